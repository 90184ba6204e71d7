"""Submits a tool call through the queue `directives` with the Python package bullmq, and waits for its result.

REDIS_URL names the Redis of a running service; a service that asks for keys gets ADJUTANT_API_KEY.
"""

import asyncio
import json
import os

from bullmq import Queue, QueueEvents

PLACE = {
    "connection": os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"),
    "prefix": "{adjutant:queue}",
}


async def main() -> None:
    queue = Queue("directives", PLACE)
    # From the first kept event on: the job may end before the first read.
    events = QueueEvents("directives", {**PLACE, "lastEventId": "0"})
    ended = asyncio.get_running_loop().create_future()
    job_id = "python-" + os.urandom(8).hex()
    events.on(f"completed:{job_id}", lambda args, _: ended.set_result(args["returnvalue"]))
    events.on(f"failed:{job_id}", lambda args, _: ended.set_result(json.loads(args["failedReason"])))

    directive = {"type": "tool_exec", "tool_name": "everything.get-sum", "arguments": {"a": 2, "b": 3}}
    token = os.environ.get("ADJUTANT_API_KEY")
    data = {**directive, "token": token} if token else directive
    options = {"jobId": job_id, "attempts": 3, "backoff": {"type": "exponential", "delay": 200}}
    await queue.add("sum", data, options)

    print(json.dumps(await ended))
    await events.close()
    await queue.close()


asyncio.run(main())
