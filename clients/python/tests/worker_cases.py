"""The worker against answers that a service or a proxy may give: what it takes, holds and ends then. `run_cases.py` runs them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import httpx
from pydantic import BaseModel, field_validator

from adjutant_client import AsyncClient, Refused, Work, Worker, WorkFailed
from adjutant_client import worker as worker_module

Body = Dict[str, Any]


class Strange(BaseModel):
    """A model whose validator raises an error that pydantic passes on."""

    kind: str

    @field_validator("kind")
    @classmethod
    def known(cls, value: str) -> str:
        return {"known": value}[value]


def refused(status: int, code: str = "too_many_open") -> httpx.Response:
    problem = {"type": f"urn:adjutant:problem:{code}", "title": code, "status": status, "code": code}
    return httpx.Response(status, json=problem, headers={"retry-after": "0"})


class Service:
    """Gives one work, and keeps its ends. `refusals`: answers to the first calls of an operation; None: its usual one."""

    def __init__(self, lease_ms: int = 60_000, **refusals: List[Optional[httpx.Response]]) -> None:
        self.ends: List[Body] = []
        self.refusals = refusals
        self.hangs_after_begin = False
        self.begun = False
        self.ended = asyncio.Event()
        self._work: Optional[Body] = {
            "type": "t", "work_id": "w", "token": "k", "lease_ms": lease_ms, "tenant": "default", "effect": "once",
            "directive": {"type": "t", "id": "d", "request_id": "r", "kind": "other"}, "attempt": 1, "idempotency_key": "i",
            "remaining_ms": 60_000, "traceparent": "", "tool_context": {},
        }  # fmt: skip

    async def answer(self, request: httpx.Request) -> httpx.Response:
        operation = request.url.path.split("/")[-1]
        refusals = self.refusals.get(operation, [])
        refusal = refusals.pop(0) if refusals else None
        if refusal is not None:
            return refusal
        if operation == "take":
            work, self._work = self._work, None
            if work is None:
                await asyncio.Event().wait()
            return httpx.Response(200, json={"work": work})
        if operation == "hold":
            if self.begun and self.hangs_after_begin:
                await asyncio.Event().wait()
            self.begun = True
            return httpx.Response(200, json={"state": "held"})
        self.ends.append(json.loads(request.content))
        self.ended.set()
        return httpx.Response(200, json={"state": "recorded"})


async def worked(service: Service, handler: Callable[[Work[Any]], Any], model: Any = None) -> Body:
    """The end that the service gets of its work."""
    async with httpx.AsyncClient(transport=httpx.MockTransport(service.answer)) as http:
        worker = Worker(AsyncClient("http://service", http=http))
        worker.directive("t", model)(handler)
        running = asyncio.ensure_future(worker.run(signals=False))
        ended = asyncio.ensure_future(service.ended.wait())
        await asyncio.wait({running, ended}, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        worker.stop()
        await running
        assert service.ends, "the work has no end"
        return service.ends[0]


async def done(work: Work[Any]) -> Any:
    return "done"


async def busy_service() -> None:
    """A refusal that passes ends neither the worker nor its work."""
    passing = [429, 408, 500, 502]
    service = Service()
    service.refusals = {name: [refused(status) for status in passing[:2]] for name in ("take", "hold")}
    service.refusals["end"] = [refused(status) for status in passing]
    end = await worked(service, done)
    assert end["result"]["payload"] == "done", end


async def renewed_key() -> None:
    """Refusals of a key that was accepted before end neither the worker nor its work: it may be renewed, or the service restart."""
    wrong = [refused(401, "unauthorized"), refused(403, "forbidden"), refused(404, "not_found")]
    service = Service(take=[None, wrong[0]], hold=[wrong[1]], end=[*wrong])
    end = await worked(service, done)
    assert end["result"]["payload"] == "done", end


@contextmanager
def refused_for(seconds: float) -> Iterator[None]:
    before, worker_module.REFUSED_FOR_S = worker_module.REFUSED_FOR_S, seconds
    try:
        yield
    finally:
        worker_module.REFUSED_FOR_S = before


async def revoked_key() -> None:
    """Without a new key the worker ends after a time. A refusal of the key says nothing about a result: no other end replaces it."""
    service = Service(take=[None, *[refused(401, "unauthorized") for _ in range(9)]], end=[refused(401, "unauthorized")])
    try:
        with refused_for(0):
            await worked(service, done)
    except Refused as error:
        assert error.code == "unauthorized", error
    else:
        raise AssertionError("the worker goes on")
    assert not service.ends, service.ends


async def refusal_after_outage() -> None:
    """The time for a new key begins with the first refusal: a service that was away for longer may refuse a call as it starts."""
    service = Service(end=[refused(502), refused(401, "unauthorized")])
    # Shorter than the pause after the outage.
    with refused_for(0.05):
        end = await worked(service, done)
    assert end["result"].get("payload") == "done", end


async def wrong_key_at_start() -> None:
    """The program of docs/python.md, whose key was never accepted, ends with one line."""
    body = refused(401, "unauthorized").content
    head = f"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/problem+json\r\ncontent-length: {len(body)}\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head.encode() + body)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    page = (Path(__file__).parents[3] / "docs/python.md").read_text(encoding="utf-8")
    documented = next(block for block in page.split("```") if "worker.serve()" in block)
    program = documented.replace(":7420", f":{port}")
    async with server:
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stderr=asyncio.subprocess.PIPE)
        try:
            _, errors = await asyncio.wait_for(child.communicate(), 60)
        finally:
            if child.returncode is None:
                child.kill()
    assert (child.returncode, errors.count(b"\n")) == (1, 1) and b"unauthorized" in errors, errors.decode()


async def stop_without_service() -> None:
    """A handler that returns a result when it is cancelled does not keep a stopped program from its end: no service takes the result."""
    service = Service(end=[refused(502) for _ in range(9_999)])
    begun = asyncio.Event()

    async def stubborn(work: Work[Any]) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "partial"

    async with httpx.AsyncClient(transport=httpx.MockTransport(service.answer)) as http:
        worker = Worker(AsyncClient("http://service", http=http), drain=0)
        worker.directive("t")(stubborn)
        running = asyncio.ensure_future(worker.run(signals=False))
        await begun.wait()
        worker.stop()
        ended, _ = await asyncio.wait({running}, timeout=20)
        running.cancel()
        assert ended, "the program does not end"
        assert len(service.refusals["end"]) == 9_998, "another end was sent"


async def strange_validator() -> None:
    end = await worked(Service(), done, Strange)
    assert (end["result"]["ok"], end["ambiguous"]) == (False, False), end


async def details_without_json() -> None:
    async def fails(work: Work[Any]) -> Any:
        raise WorkFailed("network", "away", details={"of": object()}, retryable=True)

    end = await worked(Service(), fails)
    error = end["result"]["error"]
    assert (error["type"], error["retryable"], end["ambiguous"]) == ("network", True, False), end


async def refused_failure() -> None:
    """An end that the service or a proxy refuses says as much about the effect in its short form."""

    async def fails(work: Work[Any]) -> Any:
        raise WorkFailed("network", "away")

    for refusal in (refused(413, "body_too_large"), httpx.Response(413, text="<h1>Too large</h1>")):
        end = await worked(Service(end=[refusal]), fails)
        assert (end["result"]["error"]["type"], end["ambiguous"]) == ("network", False), end
        end = await worked(Service(end=[refusal]), done)
        error = end["result"]["error"]
        assert (error["type"], end["ambiguous"]) == ("invalid_result", True), end
        assert error["message"].startswith("The service refused the result"), end


async def cancels_itself() -> None:
    async def cancelled(work: Work[Any]) -> Any:
        raise asyncio.CancelledError

    end = await worked(Service(), cancelled)
    assert (end["result"]["ok"], end["ambiguous"]) == (False, True), end


async def hanging_hold() -> None:
    """The handler is cancelled when its lease ends, although the call that renews it has no answer yet."""
    service = Service(lease_ms=300)
    service.hangs_after_begin = True

    async def waits(work: Work[Any]) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "cancelled"

    end = await asyncio.wait_for(worked(service, waits), 20)
    assert end["result"]["payload"] == "cancelled", end


class Lines(logging.Handler):
    """The warnings of the worker."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: List[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


async def ignored_cancellation() -> None:
    """A handler that ignores its cancellation holds its place: the log names it once."""
    service = Service(lease_ms=300)
    service.hangs_after_begin = True
    log = Lines()

    async def ignores(work: Work[Any]) -> Any:
        while not log.lines:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                pass
        return "late"

    before, worker_module.IGNORED_S = worker_module.IGNORED_S, 0.05
    worker_module.LOG.disabled = False
    worker_module.LOG.addHandler(log)
    worker_module.LOG.propagate = False
    try:
        end = await asyncio.wait_for(worked(service, ignores), 20)
    finally:
        worker_module.IGNORED_S = before
        worker_module.LOG.disabled = True
        worker_module.LOG.propagate = True
        worker_module.LOG.removeHandler(log)
    assert end["result"]["payload"] == "late", end
    ignored = [line for line in log.lines if "ignored its cancellation" in line]
    assert len(ignored) == 1 and ignored[0].startswith("The handler of r/d of type t has"), log.lines


async def signals_afterwards() -> None:
    """The handlers of before are there again; a second SIGINT has the former one while the work drains."""
    interrupts: List[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    term = signal.getsignal(signal.SIGTERM)
    service = Service()
    release = asyncio.Event()

    async def waits(work: Work[Any]) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        while not worker._stopping.is_set():
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        await release.wait()

    try:
        async with httpx.AsyncClient(transport=httpx.MockTransport(service.answer)) as http:
            worker = Worker(AsyncClient("http://service", http=http))
            worker.directive("t")(waits)
            running = asyncio.ensure_future(worker.run())
            for _ in range(2_000):
                if interrupts or running.done():
                    break
                await asyncio.sleep(0.01)
            release.set()
            await running
        assert interrupts == [signal.SIGINT], interrupts
        os.kill(os.getpid(), signal.SIGINT)
        assert len(interrupts) == 2, "the handler of before is gone"
        assert signal.getsignal(signal.SIGTERM) == term
    finally:
        signal.signal(signal.SIGINT, before)


CASES = (
    busy_service,
    renewed_key,
    revoked_key,
    refusal_after_outage,
    stop_without_service,
    wrong_key_at_start,
    strange_validator,
    details_without_json,
    refused_failure,
    cancels_itself,
    hanging_hold,
    ignored_cancellation,
    signals_afterwards,
)


async def pass_worker_cases() -> int:
    """Prints each failure; returns their number."""
    failed = 0
    worker_module.LOG.disabled = True
    for case in CASES:
        try:
            await case()
        except Exception as error:
            failed += 1
            print(f"worker: {case.__name__}: {error!r}")
    return failed


if __name__ == "__main__":
    asyncio.run(pass_worker_cases())
