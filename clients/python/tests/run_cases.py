"""The cases of all clients, through the blocking and the asynchronous client, and checks that need no service.

Usage: run_cases.py <address of a service> <file of cases> <signed webhook, as JSON>
Prints a line for each failure, and the number of passed cases at the end. A text `$name` in a case is a kept value, or a new id.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import json
import sys
import time
import uuid
from pathlib import Path
from typing import Any, Awaitable, Callable, Union

from adjutant_client import (
    AsyncClient,
    Client,
    DirectiveFailed,
    Refused,
    SignatureInvalid,
    StepFailed,
    Unavailable,
    verify_webhook,
)
from adjutant_client._follow import Cut, Follower
from adjutant_client.model import Model
from adjutant_client.models import SignalCustom, ToolExec

from worker_cases import CASES as WORKER_CASES
from worker_cases import pass_worker_cases

EitherClient = Union[Client, AsyncClient]
EVENTUALLY_S = 60


class Boom(Exception):
    """The error of a step."""


def plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, list):
        return [plain(each) for each in value]
    return vars(value) if hasattr(value, "call_id") else value


def filled(value: Any, kept: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [filled(each, kept) for each in value]
    if isinstance(value, dict):
        return {name: filled(member, kept) for name, member in value.items()}
    if isinstance(value, str) and value.startswith("$"):
        return kept.setdefault(value[1:], f"test-{uuid.uuid4()}")
    return value


def at(value: Any, path: str) -> Any:
    first, _, rest = path.partition(".")
    if first == "":
        return value
    if first == "*":
        return [at(each, rest) for each in value]
    if isinstance(value, list):
        return at(value[int(first)], rest)
    return at(value.get(first) if isinstance(value, dict) else None, rest)


def has(value: Any, members: Any) -> bool:
    if isinstance(members, dict):
        return isinstance(value, dict) and all(name in value and has(value[name], members[name]) for name in members)
    if isinstance(members, list):
        return isinstance(value, list) and len(value) == len(members) and all(map(has, value, members))
    return type(value) is type(members) and bool(value == members)


def expect(value: Any, members: Any) -> None:
    if not has(value, members):
        raise AssertionError(f"expected {json.dumps(members)}, got {json.dumps(value, default=str)[:2000]}")


async def settled(value: Any) -> Any:
    if inspect.isasyncgen(value):
        return [each async for each in value]
    if inspect.isgenerator(value):
        return list(value)
    return await value if inspect.isawaitable(value) else value


def calls_of(client: EitherClient) -> dict[str, Callable[..., Any]]:
    runs = client.runs

    def waits(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            options = given[-1] if isinstance(given[-1], dict) and "timeout_ms" in given[-1] else {}
            return method(*(given[:-1] if options else given), **{"timeout": options["timeout_ms"] / 1_000 for _ in options})

        return call

    def named(method: Callable[..., Any], positions: int) -> Callable[..., Any]:
        return lambda *given: method(*given[:positions], **(given[positions] if len(given) > positions else {}))

    def step(run: str, name: str, does: dict[str, Any], options: Any = None) -> Any:
        def fn() -> Any:
            if "throws" in does:
                raise Boom(does["throws"])
            return does["returns"]

        return client.step(run, name, fn, **(options or {}))

    return {
        "submit": named(client.submit, 1),
        "execute": waits(client.execute),
        "result": waits(client.result),
        "follow": named(client.follow, 1),
        "page": named(client.page, 1),
        "request": client.request,
        "requests": named(client.requests, 0),
        "directive": client.directive,
        "payload": client.payload,
        "cancel": named(client.cancel, 2),
        "start": runs.start,
        "run": waits(runs.run),
        "text": runs.text,
        "input": named(runs.input, 2),
        "approve": named(runs.approve, 2),
        "deny": named(runs.deny, 2),
        "step": step,
        "read_run": client.read_run,
        "close_run": named(client.close_run, 1),
    }


async def raised(call: Callable[[], Awaitable[Any]], *kinds: type[BaseException]) -> Any:
    try:
        result = await call()
    except kinds as error:
        return error
    raise AssertionError(f"expected {kinds[0].__name__}, got {json.dumps(result, default=str)[:500]}")


async def take(calls: dict[str, Callable[..., Any]], kept: dict[str, Any], step: dict[str, Any]) -> None:
    given = filled(step["with"], kept)

    async def make() -> Any:
        return plain(await settled(calls[step["call"]](*given)))

    async def once() -> None:
        result = await make()
        if "gives" in step:
            expect(at(result, step.get("pick", "")), filled(step["gives"], kept))
        for name, path in step.get("keep", {}).items():
            kept[name] = at(result, path)

    if "refused" in step:
        expect(plain((await raised(make, Refused)).problem), step["refused"])
    elif "unavailable" in step:
        await raised(make, Unavailable)
    elif "throws" in step:
        expect(str(await raised(make, Boom, StepFailed)), step["throws"])
    elif "fails" in step:
        expect(plain((await raised(make, DirectiveFailed)).error), step["fails"])
    else:
        ends_at = time.monotonic() + (EVENTUALLY_S if "eventually" in step else 0)
        while True:
            try:
                return await once()
            except AssertionError:
                if time.monotonic() > ends_at:
                    raise
            await asyncio.sleep(0.1)


async def pass_cases(client: EitherClient, cases: list[dict[str, Any]]) -> int:
    """Number of failed cases. Blocking calls hold up nothing but the next case."""
    failed = 0
    calls = calls_of(client)
    for case in cases:
        kept: dict[str, Any] = {}
        for number, step in enumerate(case["steps"], 1):
            try:
                await take(calls, kept, step)
            except Exception as error:
                failed += 1
                print(f"FAILED {type(client).__name__}: {case['name']}, step {number}: {type(error).__name__}: {error}")
                break
    return failed


def check_webhook(message: dict[str, Any]) -> None:
    """`message`: signed by the service's own code, with two secrets, as during a rotation."""
    headers, body, at_s = message["headers"], message["body"], message["at_s"]
    for secret in message["secrets"]:
        expect(plain(verify_webhook(secret, headers, body, now=at_s)), json.loads(body))
    wrong = "whsec_" + "A" * 32
    verify_webhook([wrong, message["secrets"][1]], headers, body.encode(), now=at_s + 299)
    for secret, given, content, now in (
        (wrong, headers, body, at_s),
        (message["secrets"][0], headers, body + " ", at_s),
        (message["secrets"][0], {**headers, "webhook-id": "other"}, body, at_s),
        (message["secrets"][0], {}, body, at_s),
        (message["secrets"][0], headers, body, at_s + 301),
        (message["secrets"][0], headers, body, at_s - 301),
    ):
        try:
            verify_webhook(secret, given, content, now=now)
        except SignatureInvalid:
            continue
        raise AssertionError("a webhook was accepted that is not from the service")


def check_follower() -> None:
    """A stream cut at every byte gives each signal once and in order; a gap is read again."""
    fields = {"specversion": "1.0", "subject": "r", "time": "t", "datacontenttype": "application/json", "source": "s"}
    rest = {**fields, "traceparent": "t", "causationid": "c", "type": "of.later", "data": {"text": "é\u2028"}}
    frames = [f"id: {n}\ndata: {json.dumps({**rest, 'id': str(n), 'sequence': n})}\n\n" for n in (1, 2, 3)]
    stream = "".join(["retry: 1000\n\n", frames[0], ": still here\n\n", frames[1], frames[1]]).encode()
    follower = Follower("r", 0)
    for size in range(1, len(stream), 7):
        follower = Follower("r", 0)
        seen = [each for at in range(0, len(stream), size) for each in follower.read(stream[at : at + size])]
        assert [each.sequence for each in seen] == [1, 2] and isinstance(seen[0], SignalCustom)
    try:
        list(Follower("r", 0).read(frames[1].encode()))
        raise AssertionError("a gap was skipped")
    except Cut:
        pass
    list(follower.read(frames[2].encode()))
    try:
        list(follower.read(b'event: adjutant.end\ndata: {"last_sequence":3}\n\n'))
    except Cut:
        assert follower.ended
        return
    raise AssertionError("the end of the stream was not read")


def check_refusals() -> None:
    client = Client("http://127.0.0.1:9", api_key="adj_x")
    for call in (lambda: client.request(".."), lambda: client.submit({}, idempotency_key="a\nb")):
        try:
            call()
        except Refused:
            continue
        raise AssertionError("the client sent what no request may hold")
    try:
        Client("http://127.0.0.1:9", api_key="secret\n")
    except ValueError as error:
        assert "secret" not in str(error)
    try:
        client.request("r")
    except Unavailable:
        return
    raise AssertionError("a service was reached that does not exist")


def check_readme(url: str) -> None:
    """The first example of the README, with the address and the tool of the test."""
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code.replace("http://127.0.0.1:7420", url).replace("everything.get-sum", "peer.add"), {})
    expect(printed.getvalue(), "{'sum': 5}\n")


async def main(url: str, file: str, message: str) -> int:
    with open(file, encoding="utf-8") as opened:
        cases = json.load(opened)
    check_webhook(json.loads(message))
    check_follower()
    check_refusals()
    check_readme(url)
    with Client(url) as client:
        typed = ToolExec(tool_name="peer.add", arguments={"a": 2, "b": 3}, effect="read")
        assert client.execute(typed).type == "ai.tool.result"
        failed = await pass_cases(client, cases)
    async with AsyncClient(url) as other:
        failed += await pass_cases(other, cases)
    failed += await pass_worker_cases()
    print(f"{2 * len(cases) + len(WORKER_CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(asyncio.run(main(*sys.argv[1:4])))
