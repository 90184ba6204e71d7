"""The steps of each method: the same for the blocking and the asynchronous client."""

from __future__ import annotations

import secrets
import threading
import time
from typing import Any, Dict, Literal, Mapping, Optional, Sequence, Tuple, Union

from pydantic import TypeAdapter

from ._exchange import Call, Pause, Reconnection, Steps, ask, is_passing, path, refusal, submission_headers
from .errors import AdjutantError, DirectiveFailed, Refused, StepFailed, Unavailable
from .model import Content, Model, wire
from .models import (
    AcceptedInput,
    BegunStep,
    Cancellation,
    DirectiveView,
    EndedWork,
    ForeignRunView,
    HeldWork,
    RecordedAnswer,
    RecordedDecision,
    RequestListing,
    RequestView,
    ResultFailed,
    RunView,
    Signal,
    SignalPage,
    StartedRun,
    Submission,
    TakenWork,
)

Directives = Union[Content, Sequence[Content]]
Effect = Literal["read", "idempotent", "once"]

LONG_POLL_MS = 25_000
"""How long one exchange waits for an end: less than the idle limit of common proxies."""

TERMINAL = ("ai.tool.result", "ai.llm.response", "ai.embed.result", "ai.request.error", "directive.result")

_SUBMISSION = TypeAdapter(Submission)
_DIRECTIVE = TypeAdapter(DirectiveView)
_REQUEST = TypeAdapter(RequestView)
_LISTING = TypeAdapter(RequestListing)
_PAGE = TypeAdapter(SignalPage)
_CANCELLATION = TypeAdapter(Cancellation)
_PAYLOAD: TypeAdapter[Dict[str, Any]] = TypeAdapter(Dict[str, Any])
_STARTED = TypeAdapter(StartedRun)
_INPUT = TypeAdapter(AcceptedInput)
_DECISION = TypeAdapter(RecordedDecision)
_ANSWER = TypeAdapter(RecordedAnswer)
_BEGUN = TypeAdapter(BegunStep)
_ANY: TypeAdapter[Any] = TypeAdapter(Any)
_RUN = TypeAdapter(ForeignRunView)
_TAKEN = TypeAdapter(TakenWork)
_HELD = TypeAdapter(HeldWork)
_ENDED = TypeAdapter(EndedWork)


def new_id() -> str:
    return secrets.token_hex(16)


def submit(
    directives: Directives,
    *,
    idempotency_key: Optional[str] = None,
    traceparent: Optional[str] = None,
    wait_ms: Optional[int] = None,
) -> Steps[Submission]:
    body = wire(directives) if isinstance(directives, (Model, Mapping)) else {"directives": [wire(each) for each in directives]}
    headers = submission_headers(idempotency_key, traceparent)
    call = Call("POST", path("directives", wait_ms=wait_ms), body, headers, (wait_ms or 0) / 1_000)
    return (yield from ask(call, _SUBMISSION))


def execute(
    directive: Content, *, timeout: Optional[float], idempotency_key: Optional[str], traceparent: Optional[str]
) -> Steps[Signal]:
    """Gives the directive its ids before it is sent, so that a repeat after a lost answer is the same submission."""
    ends_at = _end_of(timeout)
    body = wire(directive)
    is_under_key = any(body.get(name) is not None for name in ("dedupe", "debounce", "singleton"))
    if is_under_key and idempotency_key is None:
        idempotency_key = new_id()
    if idempotency_key is None:
        body = {"request_id": new_id(), "id": new_id(), **body}
    wait_ms = _wait_ms(ends_at)
    options: Dict[str, Any] = {"idempotency_key": idempotency_key, "traceparent": traceparent, "wait_ms": wait_ms}
    try:
        submission = yield from submit(body, **options)
    except Unavailable as error:
        # The service may have closed a kept-alive connection just then.
        if error.retry_after is not None:
            raise
        submission = yield from submit(body, **options)
    entry = submission.directives[0]
    end = entry.result
    if end is None or end.type not in TERMINAL:
        end = yield from _until_end(submission.request_id, entry.id, ends_at, True)
    if end is None:
        raise Unavailable(f"Directive {entry.id} of request {submission.request_id} has not ended in time; it continues.")
    return succeeded(end)


def succeeded(end: Signal) -> Signal:
    """The terminal signal of a success. Raises `DirectiveFailed`."""
    result = getattr(end.data, "result", None)
    if isinstance(result, ResultFailed):
        raise DirectiveFailed(end, result.error)
    return end


def result(request_id: str, directive_id: str, *, timeout: Optional[float]) -> Steps[Optional[Signal]]:
    return (yield from _until_end(request_id, directive_id, _end_of(timeout), False))


def _until_end(request_id: str, directive_id: str, ends_at: float, reached: bool) -> Steps[Optional[Signal]]:
    """Waits out an outage only after a first answer of the service."""
    reconnection = Reconnection()
    while True:
        wait_ms = _wait_ms(ends_at)
        call = Call("GET", path("requests", request_id, "directives", directive_id, wait_ms=wait_ms), wait_s=wait_ms / 1_000)
        try:
            view = yield from ask(call, _DIRECTIVE)
            reached = True
            reconnection.succeeded()
            if view.result is not None and view.result.type in TERMINAL:
                return view.result
        except Unavailable as error:
            if not reached:
                raise
            yield reconnection.next(error)
        if time.monotonic() >= ends_at:
            return None


def _end_of(timeout: Optional[float]) -> float:
    return float("inf") if timeout is None else time.monotonic() + timeout


def _wait_ms(ends_at: float) -> int:
    return int(min(LONG_POLL_MS, max(0.0, (ends_at - time.monotonic()) * 1_000)))


def request(request_id: str) -> Steps[Optional[RequestView]]:
    try:
        return (yield from ask(Call("GET", path("requests", request_id)), _REQUEST))
    except Refused as error:
        if error.code != "not_found":
            raise
        return None


def requests(filters: Mapping[str, Any]) -> Steps[RequestListing]:
    return (yield from ask(Call("GET", path("requests", **filters)), _LISTING))


def page(request_id: str, *, after: int, limit: Optional[int]) -> Steps[SignalPage]:
    return (yield from ask(Call("GET", path("requests", request_id, "signals", after=after, limit=limit)), _PAGE))


def directive(request_id: str, directive_id: str) -> Steps[Optional[DirectiveView]]:
    try:
        return (yield from ask(Call("GET", path("requests", request_id, "directives", directive_id)), _DIRECTIVE))
    except Refused as error:
        if error.code != "not_found":
            raise
        return None


def payload(request_id: str, directive_id: str) -> Steps[Any]:
    answer = yield from ask(Call("GET", path("requests", request_id, "directives", directive_id, "payload")), _PAYLOAD)
    return answer["payload"]


def cancel(request_id: str, directive_id: Optional[str], *, reason: Optional[str]) -> Steps[Cancellation]:
    place = () if directive_id is None else ("directives", directive_id)
    body = {} if reason is None else {"reason": reason}
    return (yield from ask(Call("POST", path("requests", request_id, *place, "cancel"), body), _CANCELLATION))


def answer(request_id: str, input_id: str, body: Content) -> Steps[RecordedAnswer]:
    return (yield from ask(Call("POST", path("requests", request_id, "inputs", input_id), wire(body)), _ANSWER))


def start_run(run: Content, *, idempotency_key: Optional[str], traceparent: Optional[str]) -> Steps[StartedRun]:
    headers = submission_headers(idempotency_key, traceparent)
    return (yield from ask(Call("POST", path("requests"), wire(run), headers), _STARTED))


def ended_run(request_id: str) -> Steps[Optional[RunView]]:
    """None: it has not ended."""
    view = yield from request(request_id)
    run = None if view is None else view.run
    return None if run is None or run.ended_at is None else run


def not_ended(request_id: str) -> Unavailable:
    return Unavailable(f"Run {request_id} has not ended in time; it continues.")


def send_input(request_id: str, **members: Any) -> Steps[AcceptedInput]:
    return (yield from ask(Call("POST", path("requests", request_id, "input"), _given(members)), _INPUT))


def decide(request_id: str, call_id: str, **members: Any) -> Steps[RecordedDecision]:
    return (yield from ask(Call("POST", path("requests", request_id, "approvals", call_id), _given(members)), _DECISION))


def _given(members: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


LONGEST_ERROR = 4_096
_POLL_S = 0.5


class StepKeys:
    """Keys of steps that have none: the name, and how often this client has begun a step of the name in the run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: Dict[str, Dict[str, int]] = {}

    def key_of(self, run: str, name: str) -> str:
        with self._lock:
            counts = self._begun.setdefault(run, {})
            counts[name] = counts.get(name, 0) + 1
            return name if counts[name] == 1 else f"{name}#{counts[name]}"

    def forget(self, run: str) -> None:
        with self._lock:
            self._begun.pop(run, None)


def step_body(key: str, effect: Effect, lease_s: float) -> Dict[str, Any]:
    return {"key": key, "effect": effect, "lease_ms": int(lease_s * 1_000), "token": new_id()}


def begin_step(run: str, body: Mapping[str, Any]) -> Steps[Tuple[bool, Any]]:
    """Waits while another process runs the step. (True, None): this process runs it now. (False, …): its recorded result."""
    while True:
        begun = yield from ask(Call("POST", path("runs", run, "steps"), body), _BEGUN)
        if begun.state != "running":
            break
        yield Pause(_POLL_S if begun.lease_ms is None else min(_POLL_S, begun.lease_ms / 1_000))
    if begun.state == "unknown":
        detail = (
            f'The process that ran the step "{begun.key}" of the run {run} died before it reported an end, so it may have acted. '
            "Find out whether it has, then call decide_step with its result, or with again."
        )
        raise refusal("outcome_unknown", 409, detail)
    if begun.error is not None:
        raise StepFailed(begun.error)
    return begun.state == "run", begun.result


def renew_step(run: str, body: Mapping[str, Any]) -> Steps[BegunStep]:
    return (yield from ask(Call("POST", path("runs", run, "steps"), body), _BEGUN))


def end_step(run: str, **members: Any) -> Steps[Any]:
    return (yield from ask(Call("POST", path("runs", run, "steps", "end"), members), _ANY))


def read_run(run: str) -> Steps[ForeignRunView]:
    return (yield from ask(Call("GET", path("runs", run)), _RUN))


def close_run(run: str, **members: Any) -> Steps[ForeignRunView]:
    return (yield from ask(Call("PUT", path("runs", run), _given(members)), _RUN))


def take_work(types: Sequence[str]) -> Steps[TakenWork]:
    call = Call("POST", path("work", "take", wait_ms=LONG_POLL_MS), {"types": list(types)}, wait_s=LONG_POLL_MS / 1_000)
    return (yield from ask(call, _TAKEN))


def hold_work(held: Mapping[str, Any]) -> Steps[HeldWork]:
    return (yield from ask(Call("POST", path("work", "hold"), held), _HELD))


def end_work(held: Mapping[str, Any], end: Mapping[str, Any]) -> Steps[EndedWork]:
    return (yield from ask(Call("POST", path("work", "end"), {**held, **end}), _ENDED))
