"""A host on the Python package `mcp`: takes orders as lines of JSON, and answers each with a line.
It must never do more than the package offers: argument 1 is the mode of its client, `auto` or `legacy`."""

import asyncio
import json
import sys

from mcp.client.client import Client

KEY = "adjutant/idempotencyKey"


class Host:
    def __init__(self) -> None:
        self.client: Client | None = None
        self.calls: dict[int, asyncio.Task] = {}

    async def connect(self, url: str, **_) -> None:
        self.client = await Client(url, mode=sys.argv[1]).__aenter__()

    async def list(self, **_) -> list[str]:
        listed = await self.client.list_tools()
        return [tool.name for tool in listed.tools]

    async def call(self, name: str, arguments: dict, key: str | None = None, **_) -> dict:
        meta = None if key is None else {KEY: key}
        result = await self.client.call_tool(name, arguments, meta=meta)
        texts = [getattr(item, "text", "") for item in result.content]
        return {"isError": bool(result.is_error), "text": "\n".join(texts)}

    async def cancel(self, call: int, **_) -> None:
        self.calls[call].cancel()


async def obey(host: Host, order: str, params: dict) -> None:
    answer = {"id": params["id"]}
    try:
        answer["result"] = await getattr(host, order)(**params)
    except asyncio.CancelledError:
        answer["error"] = "cancelled"
    except Exception as error:  # whatever the package raises is what its user sees
        answer["error"] = str(error) or type(error).__name__
    print(json.dumps(answer), flush=True)


async def main() -> None:
    host = Host()
    loop = asyncio.get_running_loop()
    # The client belongs to the task that has opened it.
    order = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    await obey(host, order.pop("order"), order)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        host.calls[order["id"]] = asyncio.create_task(obey(host, order.pop("order"), order))


asyncio.run(main())
