"""Execution of directive types in Python: takes their work from the service, holds it while it runs, and ends it."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Set, Type, TypeVar

from pydantic import BaseModel, ValidationError

from . import _operations as operations
from ._exchange import Reconnection, is_passing, json_bytes
from .async_client import AsyncClient
from .errors import AdjutantError, Refused, WorkFailed
from .models import TakenWorkWork as TakenWork

D = TypeVar("D")

LOG = logging.getLogger("adjutant_client.worker")
LONGEST_TYPE = 128
REFUSED_FOR_S = 300
"""How long a key or a type may be refused that the service has accepted before."""

IGNORED_S = 5.0
"""How long a handler may go on after its cancellation before a warning."""


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


class _Access:
    """Decides whether calls are made again that the service refused for their key or type, or did not answer.

    A key may be renewed, and a service restart with another configuration: what was accepted before is tried again for `REFUSED_FOR_S`,
    from the first refusal. An outage before it does not count.
    """

    def __init__(self) -> None:
        self._was_given = False
        self._is_failing = False
        self._refused_at: Optional[float] = None

    def succeeded(self) -> None:
        self._was_given = True
        self._is_failing = False
        self._refused_at = None

    def may_return(self, error: AdjutantError) -> bool:
        """Whether a call that failed is made again. Logs the first failure after a success."""
        is_refused = _is_of_access(error)
        if not is_passing(error) and not (is_refused and self._was_given):
            return False
        if not self._is_failing:
            self._is_failing = True
            LOG.warning("The service refuses calls of this program, or does not answer; they are made again: %s", _text_of(error))
        if not is_refused:
            return True
        now = time.monotonic()
        if self._refused_at is None:
            self._refused_at = now
        return now - self._refused_at < REFUSED_FOR_S


def _is_of_access(error: AdjutantError) -> bool:
    """Whether the service refused a call for its key or its type, whatever the call says."""
    return isinstance(error, Refused) and error.status in (401, 403, 404)


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
        self._access = _Access()
        self._stopping = asyncio.Event()
        self._is_drained = False
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

    def serve(self) -> None:
        """Runs a program that is only a worker: executes work until SIGTERM or SIGINT, then closes the client.

        Where the key or a type is refused, as `run` says, it prints one line and ends the program with the exit code 1.
        """

        async def serve() -> None:
            async with self._client:
                await self.run()

        try:
            asyncio.run(serve())
        except Refused as error:
            raise SystemExit(f"The service refuses this program ({error.code}): {error}") from None

    async def run(self, *, signals: bool = True) -> None:
        """Executes work until `stop`. Raises `Refused` where the key or a type is refused: at once before the first success, and after 5
        minutes of refusals later, as a key may be renewed meanwhile.

        `signals`: SIGTERM and SIGINT stop it, and a second SIGINT ends the program without waiting for its work. Their handlers are those of
        before when it returns.
        """
        with self._stopped_by_signals() if signals else nullcontext():
            await self._run()

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def restore(number: signal.Signals) -> None:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])

        def interrupted() -> None:
            self.stop()
            restore(signal.SIGINT)

        loop.add_signal_handler(signal.SIGTERM, self.stop)
        loop.add_signal_handler(signal.SIGINT, interrupted)
        try:
            yield
        finally:
            for number in before:
                restore(number)

    async def _run(self) -> None:
        stopped = asyncio.ensure_future(self._stopping.wait())
        taking = asyncio.ensure_future(self._take())
        try:
            await asyncio.wait({stopped, taking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            taking.cancel()
            try:
                if self._running:
                    await asyncio.wait(self._running, timeout=self._drain)
            finally:
                self._is_drained = True
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
                self._access.succeeded()
            except AdjutantError as error:
                if not self._access.may_return(error):
                    raise
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
        try:
            await self._execute_held(work, held)
        except Exception as error:
            # The lease ends, and the service decides about the work.
            LOG.error("Work %s of type %s has no end of this program: %s", work.work_id, work.type, _text_of(error))

    async def _execute_held(self, work: TakenWork, held: Mapping[str, Any]) -> None:
        lease = work.lease_ms / 1_000
        held_until = await self._begin(held, lease)
        if held_until is None:
            return
        handling = asyncio.ensure_future(self._handle(work))
        holding = asyncio.ensure_future(self._hold(held, lease, held_until))
        try:
            try:
                await asyncio.wait({handling, holding}, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                pass
            # Withdrawn, lost, or stopped: another end is recorded, or the lease ends, unless the handler still returns one.
            is_withdrawn = not handling.done()
            await self._cancelled(handling, work)
            if not handling.cancelled():
                # The lease is renewed until the end is recorded.
                await self._end(held, handling.result())
            elif not is_withdrawn:
                await self._end(held, _failed(WorkFailed("exception", "The handler cancelled itself").error, True))
        finally:
            handling.cancel()
            holding.cancel()

    async def _cancelled(self, handling: asyncio.Task[Any], work: TakenWork) -> None:
        """Cancels a handler, and waits for it. One that ignores that holds its place: the log has it once, and its end."""
        handling.cancel()
        asked_at = time.monotonic()
        _, going_on = await asyncio.wait({handling}, timeout=IGNORED_S)
        if not going_on:
            return
        name = f"{work.directive.get('request_id')}/{work.directive.get('id')} of type {work.type}"
        ignored = "The handler of %s has ignored its cancellation for %.0f s: it holds one of %d places until it returns"
        LOG.warning(ignored, name, time.monotonic() - asked_at, self._concurrency)
        await asyncio.wait({handling})
        LOG.info("The handler of %s ended %.0f s after its cancellation", name, time.monotonic() - asked_at)

    async def _begin(self, held: Mapping[str, Any], lease: float) -> Optional[float]:
        """When the lease ends, by the monotonic clock; None: it is lost.

        Repeats a begin whose answer was lost: it is the same begin, or the lease is lost.
        """
        reconnection = Reconnection()
        while True:
            asked_at = time.monotonic()
            try:
                state = (await self._client._do(operations.hold_work(held))).state
                self._access.succeeded()
                return asked_at + lease if state == "held" else None
            except AdjutantError as error:
                if not self._access.may_return(error):
                    raise
                await asyncio.sleep(reconnection.next(error).seconds)

    async def _hold(self, held: Mapping[str, Any], lease: float, held_until: float) -> None:
        """Renews the lease. Returns when the directive was cancelled, or when the lease has ended, although a call is still open."""
        reconnection = Reconnection()
        pause = lease / 3
        while True:
            await asyncio.sleep(min(pause, held_until - time.monotonic()))
            asked_at = time.monotonic()
            if asked_at >= held_until:
                return
            try:
                answer = await asyncio.wait_for(self._client._do(operations.hold_work(held)), held_until - asked_at)
            except asyncio.TimeoutError:
                return
            except Exception as error:
                if not (isinstance(error, AdjutantError) and is_passing(error)):
                    LOG.warning("The lease of work %s was not renewed: %s", held["work_id"], _text_of(error))
                pause = min(reconnection.next(error).seconds, lease / 3)
                continue
            if answer.state != "held":
                return
            reconnection.succeeded()
            held_until = asked_at + lease
            pause = lease / 3

    async def _end(self, held: Mapping[str, Any], end: Mapping[str, Any]) -> None:
        """Sends an end. Where the service refuses it for its size or its form, a short one that says as much about the effect."""
        try:
            json_bytes(end)
            await self._send_end(held, end)
            return
        except AdjutantError as error:
            if is_passing(error) or _is_of_access(error):
                raise
            why = f"The service refused the result: {error}"
        except Exception as error:
            why = f"The result is no JSON: {_text_of(error)}"
        failure = end["result"].get("error")
        if failure is None:
            short = _failed(WorkFailed("invalid_result", why[: operations.LONGEST_ERROR]).error, True)
        else:
            type = str(failure["type"])[:LONGEST_TYPE] or "exception"
            message = f"{str(failure['message'])[: operations.LONGEST_ERROR // 2]} ({why[: operations.LONGEST_ERROR // 4]})"
            again = WorkFailed(type, message, retryable=bool(failure["retryable"]))
            short = _failed(again.error, end["ambiguous"])
        await self._send_end(held, short)

    async def _send_end(self, held: Mapping[str, Any], end: Mapping[str, Any]) -> None:
        """Makes the call again after an outage: no other process knows the end. After the drain it is made once."""
        reconnection = Reconnection()
        while True:
            try:
                await self._client._do(operations.end_work(held, end))
                self._access.succeeded()
                return
            except AdjutantError as error:
                if self._is_drained or not self._access.may_return(error):
                    raise
                await asyncio.sleep(reconnection.next(error).seconds)

    async def _handle(self, taken: TakenWork) -> Dict[str, Any]:
        try:
            work = self._work_of(taken)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False, include_context=False)
            refused = WorkFailed("invalid_arguments", "The members of the directive are invalid", details={"faults": faults})
            return _failed(refused.error, False)
        except Exception as error:
            # The handler has not begun.
            return _failed(WorkFailed("exception", _text_of(error)).error, False)
        try:
            payload = await self._handlers[taken.type](work)
            json_bytes(payload)
        except WorkFailed as error:
            return _failed(error.error, False)
        except Exception as error:
            return _failed(WorkFailed("exception", _text_of(error)).error, True)
        return {"result": {"ok": True, "payload": payload, "effects": []}}

    def _work_of(self, taken: TakenWork) -> Work[Any]:
        given = taken.directive
        model = self._models[taken.type]
        return Work(
            directive=given if model is None else model.model_validate(_own(given)),
            request_id=str(given["request_id"]),
            id=str(given["id"]),
            tenant=taken.tenant,
            attempt=taken.attempt,
            idempotency_key=taken.idempotency_key,
            deadline=time.monotonic() + taken.remaining_ms / 1_000,
            traceparent=taken.traceparent,
            tool_context=taken.tool_context,
        )


def _text_of(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    return (text or type(error).__name__)[: operations.LONGEST_ERROR]


def _failed(error: Mapping[str, Any], ambiguous: bool) -> Dict[str, Any]:
    return {"result": {"ok": False, "error": error, "effects": []}, "ambiguous": ambiguous}


RETRIES = ("max_retries", "retry_backoff_ms", "backoff", "max_backoff_ms", "jitter", "deadline_ms")
COMMON = {"type", "id", "request_id", "metadata", *RETRIES}
"""Members of every directive."""


def _own(directive: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in directive.items() if name not in COMMON}
