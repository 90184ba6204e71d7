"""Execution of directive types in Python: takes their work from the service, holds it while it runs, and ends it."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Dict, Generic, List, Mapping, Optional, Set, Type, TypeVar

from pydantic import BaseModel, ValidationError

from . import _operations as operations
from ._exchange import Reconnection, json_bytes
from .async_client import AsyncClient
from .errors import AdjutantError, Refused, Unavailable, WorkFailed
from .models import TakenWorkWork as TakenWork

D = TypeVar("D")


@dataclass(frozen=True)
class Work(Generic[D]):
    """Work of one attempt.

    `directive`: its members, as the model of the type, else a dict. `idempotency_key`: the same for every attempt; send it to the receiver.
    `deadline`: by the monotonic clock. `tool_context`: in a run, the agent's `tool_context` and `state`.
    """

    directive: D
    request_id: str
    id: str
    tenant: str
    attempt: int
    idempotency_key: str
    deadline: float
    traceparent: str
    tool_context: Mapping[str, Any]


Handler = Callable[[Work[Any]], Awaitable[Any]]


class Worker:
    """Executes directive types that the configuration of the service names under `remote_directives`.

    `client`: its key needs the scope `work`. `concurrency`: how many directives are executed at once. `drain`: seconds that a stop waits for
    them; a handler that is still running then is cancelled.
    """

    def __init__(self, client: AsyncClient, *, concurrency: int = 10, drain: float = 30) -> None:
        self._client = client
        self._concurrency = concurrency
        self._drain = drain
        self._handlers: Dict[str, Handler] = {}
        self._models: Dict[str, Optional[Type[BaseModel]]] = {}
        self._stopping = asyncio.Event()
        self._running: Set[asyncio.Task[None]] = set()

    def directive(self, type: str, model: Optional[Type[BaseModel]] = None) -> Callable[[Handler], Handler]:
        """Decorates the handler of a type: an async function that gets its `Work` and returns JSON, or raises `WorkFailed`.

        `model`: checks the members of the directive; a directive that it refuses fails as `invalid_arguments`. Any other error counts as one
        after which the work may have had its effect. The handler is cancelled when its directive was, or when its lease is lost.
        """

        def add(handler: Handler) -> Handler:
            self._handlers[type] = handler
            self._models[type] = model
            return handler

        return add

    def stop(self) -> None:
        """Takes no more work. `run` returns when what is running has ended."""
        self._stopping.set()

    async def run(self, *, signals: bool = True) -> None:
        """Executes work until `stop`. `signals`: SIGTERM and SIGINT stop it. Raises `Refused` where the key or a type is refused."""
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, self.stop)
        stopped = asyncio.ensure_future(self._stopping.wait())
        taking = asyncio.ensure_future(self._take())
        try:
            await asyncio.wait({stopped, taking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            taking.cancel()
            if self._running:
                await asyncio.wait(self._running, timeout=self._drain)
            for task in self._running:
                task.cancel()
            await asyncio.gather(taking, *self._running, return_exceptions=True)
        if not taking.cancelled():
            taking.result()

    async def _take(self) -> None:
        reconnection = Reconnection()
        places = asyncio.Semaphore(self._concurrency)
        names: List[str] = list(self._handlers)
        while True:
            await places.acquire()
            try:
                work = (await self._client._do(operations.take_work(names))).work
                reconnection.succeeded()
            except Unavailable as error:
                places.release()
                await asyncio.sleep(reconnection.next(error).seconds)
                continue
            if work is None:
                places.release()
                continue
            # The type that was asked for last is served last; with the next call another one is first.
            names = [*names[1:], names[0]]
            task = asyncio.ensure_future(self._execute(work))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            task.add_done_callback(lambda _: places.release())

    async def _execute(self, work: TakenWork) -> None:
        held = {"type": work.type, "work_id": work.work_id, "token": work.token}
        if not await self._begin(held):
            return
        handling = asyncio.ensure_future(self._handle(work))
        holding = asyncio.ensure_future(self._hold(held, work.lease_ms / 1_000, handling))
        try:
            end = await handling
            # The lease is renewed until the end is recorded.
            await self._client._do(operations.end_work(held, end))
        except asyncio.CancelledError:
            # Withdrawn, lost, or stopped: another end is recorded, or the lease ends.
            pass
        except Refused as error:
            too_large = WorkFailed("invalid_result", f"The service refused the result: {error}")
            await self._client._do(operations.end_work(held, _failed(too_large.error, True)))
        finally:
            handling.cancel()
            holding.cancel()

    async def _begin(self, held: Mapping[str, Any]) -> bool:
        """Repeats a begin whose answer was lost: it is the same begin, or the lease is lost."""
        reconnection = Reconnection()
        while True:
            try:
                return (await self._client._do(operations.hold_work(held))).state == "held"
            except Unavailable as error:
                await asyncio.sleep(reconnection.next(error).seconds)

    async def _hold(self, held: Mapping[str, Any], lease: float, handling: asyncio.Future[Any]) -> None:
        """Renews the lease. Cancels the handler when its directive was cancelled, or when the lease has ended."""
        held_until = time.monotonic() + lease
        while True:
            await asyncio.sleep(lease / 3)
            asked_at = time.monotonic()
            try:
                state = (await self._client._do(operations.hold_work(held))).state
            except AdjutantError:
                state = "held" if time.monotonic() < held_until else "lost"
            else:
                held_until = asked_at + lease
            if state != "held":
                handling.cancel()
                return

    async def _handle(self, taken: TakenWork) -> Dict[str, Any]:
        given = taken.directive
        model = self._models[taken.type]
        try:
            directive = given if model is None else model.model_validate(_own(given))
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False, include_context=False)
            refused = WorkFailed("invalid_arguments", "The members of the directive are invalid", details={"faults": faults})
            return _failed(refused.error, False)
        work = Work(
            directive=directive,
            request_id=str(given["request_id"]),
            id=str(given["id"]),
            tenant=taken.tenant,
            attempt=taken.attempt,
            idempotency_key=taken.idempotency_key,
            deadline=time.monotonic() + taken.remaining_ms / 1_000,
            traceparent=taken.traceparent,
            tool_context=taken.tool_context,
        )
        try:
            payload = await self._handlers[taken.type](work)
            json_bytes(payload)
        except WorkFailed as error:
            return _failed(error.error, False)
        except Exception as error:
            message = (str(error) or type(error).__name__)[: operations.LONGEST_ERROR]
            return _failed(WorkFailed("exception", message).error, True)
        return {"result": {"ok": True, "payload": payload, "effects": []}}


def _failed(error: Mapping[str, Any], ambiguous: bool) -> Dict[str, Any]:
    return {"result": {"ok": False, "error": error, "effects": []}, "ambiguous": ambiguous}


RETRIES = ("max_retries", "retry_backoff_ms", "backoff", "max_backoff_ms", "jitter", "deadline_ms")
COMMON = {"type", "id", "request_id", "metadata", *RETRIES}
"""Members of every directive."""


def _own(directive: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in directive.items() if name not in COMMON}
