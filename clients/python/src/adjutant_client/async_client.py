"""The asynchronous client, with the methods of the blocking one. A method raises `Refused` where the service refuses, and `Unavailable` where it does not answer."""

from __future__ import annotations

import asyncio
import inspect
import time
from contextlib import aclosing
from types import TracebackType
from typing import Any, AsyncGenerator, Awaitable, Callable, Mapping, Optional, Type, TypeVar, Union

import httpx

from . import _operations as operations
from ._exchange import LIMITS, Answer, Call, Pause, Service, Steps, answer_of, check_stream, json_bytes
from ._follow import Cut, Follower, silent
from ._operations import Directives, Effect
from .errors import AdjutantError, Unavailable
from .model import Content
from .models import (
    AcceptedInput,
    Cancellation,
    DirectiveView,
    ForeignRunView,
    RecordedAnswer,
    RecordedDecision,
    RequestListing,
    RequestView,
    RunView,
    Signal,
    SignalPage,
    StartedRun,
    Submission,
)
from .text import TextEvent, TextReader

T = TypeVar("T")


class AsyncClient:
    """Client of a service.

    `base_url`: address of the service, such as `http://127.0.0.1:7420`. `api_key`: where the service requires keys. `timeout`: seconds until a
    call without an answer fails. `idle_timeout`: seconds after which a silent stream counts as broken. `http`: a client of httpx with your own
    transport or proxy; it stays open.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: Optional[str] = None,
        timeout: float = 30,
        idle_timeout: float = 45,
        http: Optional[httpx.AsyncClient] = None,
    ) -> None:
        self._service = Service(base_url, api_key, timeout)
        self._idle = idle_timeout
        self._owns_http = http is None
        self._http = httpx.AsyncClient(limits=LIMITS) if http is None else http
        self._keys = operations.StepKeys()
        self.runs = AsyncRuns(self)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes its connections."""
        if self._owns_http:
            await self._http.aclose()

    async def submit(
        self,
        directives: Directives,
        *,
        idempotency_key: Optional[str] = None,
        traceparent: Optional[str] = None,
        wait_ms: Optional[int] = None,
    ) -> Submission:
        """Returns once every directive is durable; all are accepted or none. `wait_ms`: time to wait for results, which are in the answer."""
        return await self._do(
            operations.submit(directives, idempotency_key=idempotency_key, traceparent=traceparent, wait_ms=wait_ms)
        )

    async def execute(
        self,
        directive: Content,
        *,
        timeout: Optional[float] = None,
        idempotency_key: Optional[str] = None,
        traceparent: Optional[str] = None,
    ) -> Signal:
        """Submits a directive and returns the signal that ends it.

        Raises `DirectiveFailed` where it ends in an error, and `Unavailable` after `timeout` seconds; the directive continues then. Default: no
        limit.
        """
        return await self._do(
            operations.execute(directive, timeout=timeout, idempotency_key=idempotency_key, traceparent=traceparent)
        )

    async def result(self, request_id: str, directive_id: str, *, timeout: Optional[float] = None) -> Optional[Signal]:
        """The signal that ends a directive, of a success or a failure; None: it has not ended in `timeout` seconds. Default: no limit."""
        return await self._do(operations.result(request_id, directive_id, timeout=timeout))

    def follow(self, request_id: str, *, after: int = 0) -> AsyncGenerator[Signal, None]:
        """Signals after the sequence `after`, each once and in order, until the request is closed. Connects again after a cut."""
        return self._follow(request_id, after, None)

    async def page(self, request_id: str, *, after: int = 0, limit: Optional[int] = None) -> SignalPage:
        """One page of the signals that are in the log."""
        return await self._do(operations.page(request_id, after=after, limit=limit))

    async def request(self, request_id: str) -> Optional[RequestView]:
        """View of a request; None: it does not exist."""
        return await self._do(operations.request(request_id))

    async def requests(self, **filters: Any) -> RequestListing:
        """Requests that match every filter, newest first: `status`, `tag`, `tool`, `agent`, `q`, `limit`, `cursor`, and others of the HTTP API."""
        return await self._do(operations.requests(filters))

    async def directive(self, request_id: str, directive_id: str) -> Optional[DirectiveView]:
        """View of a directive; None: it does not exist."""
        return await self._do(operations.directive(request_id, directive_id))

    async def payload(self, request_id: str, directive_id: str) -> Any:
        """Whole payload of a success, also where its signal holds a preview."""
        return await self._do(operations.payload(request_id, directive_id))

    async def cancel(
        self, request_id: str, directive_id: Optional[str] = None, *, reason: Optional[str] = None
    ) -> Cancellation:
        """Cancels a directive, or all of a request."""
        return await self._do(operations.cancel(request_id, directive_id, reason=reason))

    async def answer(self, request_id: str, input_id: str, answer: Content) -> RecordedAnswer:
        """Answers a question that the tool of a directive asks."""
        return await self._do(operations.answer(request_id, input_id, answer))

    async def step(
        self,
        run: str,
        name: str,
        fn: Callable[[], Union[T, Awaitable[T]]],
        *,
        effect: Effect = "once",
        key: Optional[str] = None,
        lease: float = 30,
    ) -> T:
        """Runs `fn` in this process, and records its result, which is JSON; a recorded step gives its result without running.

        `effect`: a `read` or `idempotent` step runs again when its process died; a `once` step raises `Refused` with `outcome_unknown` until
        `decide_step`. `key`: the step in its run; default: its name and how often this client has begun a step of the name. `lease`: seconds
        until the process counts as dead; a task renews it. An error of `fn` is recorded for `once`, and raised again as `StepFailed`.
        """
        body = operations.step_body(key or self._keys.key_of(run, name), effect, lease)
        begins, recorded = await self._do(operations.begin_step(run, body))
        if not begins:
            return recorded  # type: ignore[no-any-return]
        renewal = asyncio.ensure_future(self._renew(run, body, lease))
        end = {"key": body["key"], "token": body["token"]}
        try:
            made = fn()
            result: T = await made if inspect.isawaitable(made) else made
            json_bytes(result)
        except Exception as error:
            await self._do(operations.end_step(run, **end, error=str(error)[: operations.LONGEST_ERROR]))
            raise
        finally:
            renewal.cancel()
        await self._do(operations.end_step(run, **end, result=result))
        return result

    async def decide_step(self, run: str, key: str, *, result: Any = None, again: bool = False) -> None:
        """Decides about a step of unknown outcome: its result, or that it runs again."""
        decision = {"again": True} if again else {"result": result}
        await self._do(operations.end_step(run, key=key, **decision))

    async def read_run(self, run: str) -> ForeignRunView:
        """View of a run that a program leads itself."""
        return await self._do(operations.read_run(run))

    async def close_run(self, run: str, *, result: Any = None, error: Optional[str] = None) -> ForeignRunView:
        """Closes a run that a program leads itself."""
        view = await self._do(operations.close_run(run, result=result, error=error))
        self._keys.forget(run)
        return view

    async def _renew(self, run: str, body: Mapping[str, Any], lease: float) -> None:
        while True:
            await asyncio.sleep(lease / 3)
            try:
                await self._do(operations.renew_step(run, body))
            except AdjutantError:
                pass

    async def _do(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    step = steps.send(None)
                    continue
                try:
                    answer = await self._send(step)
                except Unavailable as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _send(self, call: Call) -> Answer:
        try:
            response = await self._http.send(self._service.request(self._http, call))
        except httpx.HTTPError as error:
            raise self._service.unreachable() from error
        return answer_of(response)

    async def _follow(self, request_id: str, after: int, ends_at: Optional[float]) -> AsyncGenerator[Signal, None]:
        """Ends at `ends_at`, by the monotonic clock, or at the next signal or heartbeat after it."""
        follower = Follower(request_id, after)
        while True:
            failure: Optional[AdjutantError] = None
            left = self._idle if ends_at is None else min(self._idle, ends_at - time.monotonic())
            if left <= 0:
                return
            try:
                async with aclosing(self._read(follower, left, ends_at)) as signals:
                    async for signal in signals:
                        yield signal
            except AdjutantError as error:
                failure = error
            if follower.ended or (ends_at is not None and time.monotonic() >= ends_at):
                return
            await asyncio.sleep(follower.cut(failure).seconds)

    async def _read(self, follower: Follower, idle: float, ends_at: Optional[float]) -> AsyncGenerator[Signal, None]:
        response = None
        try:
            response = await self._http.send(self._service.request(self._http, follower.call(), idle), stream=True)
            if not response.is_success:
                await response.aread()
            check_stream(response)
            follower.opened(response.status_code)
            async for chunk in response.aiter_bytes():
                for signal in follower.read(chunk):
                    yield signal
                if ends_at is not None and time.monotonic() >= ends_at:
                    return
        except Cut:
            return
        except httpx.ReadTimeout:
            raise silent(idle) from None
        except httpx.HTTPError as error:
            raise self._service.unreachable() from error
        finally:
            if response is not None:
                await response.aclose()


class AsyncRuns:
    """Runs of agents."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def start(
        self, run: Content, *, idempotency_key: Optional[str] = None, traceparent: Optional[str] = None
    ) -> StartedRun:
        """Returns once the run is durable. The same `request_id` or key with the same content is the same run."""
        return await self._client._do(operations.start_run(run, idempotency_key=idempotency_key, traceparent=traceparent))

    async def run(self, run: Content, *, timeout: Optional[float] = None, idempotency_key: Optional[str] = None) -> RunView:
        """Starts a run and waits for its end, as `wait` does."""
        started = await self.start(run, idempotency_key=idempotency_key)
        return await self.wait(started.request_id, timeout=timeout)

    async def wait(self, request_id: str, *, timeout: Optional[float] = None) -> RunView:
        """The run once it has ended, whatever its end is: `status` and `result` tell.

        Raises `Unavailable` after `timeout` seconds, up to 15 s later; the run continues. Default: no limit.
        """
        ends_at = None if timeout is None else time.monotonic() + timeout
        async with aclosing(self._client._follow(request_id, 0, ends_at)) as signals:
            async for signal in signals:
                if signal.type in ("ai.request.completed", "ai.request.failed"):
                    break
        view = await self._client._do(operations.ended_run(request_id))
        if view is None:
            raise operations.not_ended(request_id)
        return view

    async def text(self, request_id: str, *, after: int = 0) -> AsyncGenerator[TextEvent, None]:
        """The text of its model calls as it arrives."""
        reader = TextReader()
        async with aclosing(self._client._follow(request_id, after, None)) as signals:
            async for signal in signals:
                for event in reader.read(signal):
                    yield event

    async def input(
        self, request_id: str, content: str, *, input_id: Optional[str] = None, source: Optional[str] = None
    ) -> AcceptedInput:
        """Sends text to a run in progress. The same `input_id` with the same content is one input."""
        return await self._client._do(operations.send_input(request_id, content=content, input_id=input_id, source=source))

    async def cancel(self, request_id: str, *, reason: Optional[str] = None) -> Cancellation:
        """Cancels a run and its calls."""
        return await self._client.cancel(request_id, reason=reason)

    async def approve(
        self,
        request_id: str,
        call_id: str,
        *,
        reason: Optional[str] = None,
        by: Optional[str] = None,
        arguments: Optional[Mapping[str, Any]] = None,
    ) -> RecordedDecision:
        """Lets a call that waits for approval continue, with other arguments where they are given."""
        return await self._client._do(
            operations.decide(request_id, call_id, decision="approve", reason=reason, by=by, arguments=arguments)
        )

    async def deny(
        self, request_id: str, call_id: str, *, reason: Optional[str] = None, by: Optional[str] = None
    ) -> RecordedDecision:
        """Makes a call that waits for approval an error."""
        return await self._client._do(operations.decide(request_id, call_id, decision="deny", reason=reason, by=by))
