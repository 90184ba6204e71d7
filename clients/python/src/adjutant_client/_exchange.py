"""Calls and answers as values, and their meaning. The clients send them: the same steps serve the blocking and the asynchronous one."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from typing import Any, Generator, Mapping, Optional, TypeVar, Union
from urllib.parse import quote, urlencode

import httpx
from pydantic import TypeAdapter, ValidationError

from .errors import AdjutantError, Refused, Unavailable
from .models import Problem

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A request. `wait_s`: how long the service may hold its answer back."""

    method: str
    path: str
    body: Optional[Any] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0


@dataclass(frozen=True)
class Answer:
    status: int
    content_type: str
    retry_after: Optional[str]
    content: bytes


@dataclass(frozen=True)
class Pause:
    seconds: float


LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
"""Each follower has a connection of its own."""

Steps = Generator[Union[Call, Pause], Optional[Answer], T]
"""Steps of a method: it yields calls and pauses, gets answers or `Unavailable`, and returns its result."""


def path(*parts: str, **query: Any) -> str:
    """A path whose ids cannot change it. A query parameter that is None is left out."""
    if any(part in (".", "..") for part in parts):
        raise refusal("bad_request", 400, 'An id that is "." or ".." cannot be part of a URL.')
    found = {name: _text(value) for name, value in query.items() if value is not None}
    return "/v1/" + "/".join(quote(part, safe="") for part in parts) + (f"?{urlencode(found)}" if found else "")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Service:
    """Address of the service, and what each request to it has."""

    def __init__(self, base_url: str, api_key: Optional[str], timeout: float) -> None:
        # The error does not show the key.
        if api_key is not None and not re.fullmatch(r"[\x21-\x7e]+", api_key):
            raise ValueError("The API key holds a character that no key has.")
        self.base = base_url.rstrip("/")
        self._headers = {"accept": "application/json"}
        if api_key is not None:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._timeout = timeout

    def request(
        self, http: Union[httpx.Client, httpx.AsyncClient], call: Call, idle_s: Optional[float] = None
    ) -> httpx.Request:
        """`idle_s`: how long a stream may be silent. Default: it is no stream."""
        headers = {**self._headers, **call.headers}
        content = None
        if call.body is not None:
            headers["content-type"] = "application/json"
            content = json_bytes(call.body)
        timeout = httpx.Timeout(self._timeout, read=self._timeout + call.wait_s if idle_s is None else idle_s)
        return http.build_request(call.method, self.base + call.path, headers=headers, content=content, timeout=timeout)

    def unreachable(self) -> Unavailable:
        return Unavailable(f"No service answers at {self.base}.")


def answer_of(response: httpx.Response) -> Answer:
    headers = response.headers
    return Answer(response.status_code, headers.get("content-type", ""), headers.get("retry-after"), response.content)


def check_stream(response: httpx.Response) -> None:
    """Raises where an answer that was read is a refusal, or one without a stream is no stream."""
    if not 200 <= response.status_code <= 299:
        raise error_of(answer_of(response))
    if response.status_code == 200 and "event-stream" not in response.headers.get("content-type", ""):
        raise not_adjutant("no stream")


def submission_headers(idempotency_key: Optional[str], traceparent: Optional[str]) -> dict[str, str]:
    if idempotency_key is not None and not re.fullmatch(r"[\x21-\x7e]{1,255}", idempotency_key):
        raise refusal("invalid_header", 400, "idempotency-key must be 1 to 255 visible ASCII characters")
    given = {"idempotency-key": idempotency_key, "traceparent": traceparent}
    return {name: value for name, value in given.items() if value is not None}


def refusal(code: str, status: int, detail: str) -> Refused:
    """A refusal that the client itself makes."""
    return Refused(Problem(type=f"urn:adjutant:problem:{code}", title=detail, status=status, detail=detail, code=code))


def ask(call: Call, answered: TypeAdapter[T]) -> Steps[T]:
    """Sends a call and reads its JSON."""
    answer = yield call
    assert answer is not None
    if not 200 <= answer.status <= 299:
        raise error_of(answer)
    if "json" not in answer.content_type:
        raise not_adjutant(answer.content_type or "without a type")
    try:
        return parsed(answered, answer.content)
    except ValidationError as error:
        raise Unavailable("The answer of the service is incomplete, or of another version.") from error


def parsed(adapter: TypeAdapter[T], content: bytes) -> T:
    """The value of a JSON text. A chunk of a model's text may end within a surrogate pair, which pydantic's own parser refuses."""
    try:
        return adapter.validate_json(content)
    except ValidationError as error:
        if error.errors(include_input=False)[0]["type"] != "json_invalid":
            raise
        try:
            value = json.loads(content)
        except ValueError:
            raise error from None
    return adapter.validate_python(value)


def error_of(answer: Answer) -> AdjutantError:
    after = answer.retry_after or ""
    retry_after = float(after) if re.fullmatch(r"[0-9]{1,6}", after) else None
    try:
        problem = Problem.model_validate_json(answer.content)
    except ValidationError:
        # A proxy bounds bodies too: the same body would be refused again.
        if answer.status == 413:
            return refusal("body_too_large", 413, "A proxy refused the body for its size.")
        return not_adjutant(f"HTTP {answer.status}", retry_after)
    if answer.status != 503:
        return Refused(problem, retry_after)
    return Unavailable(problem.detail or problem.title, retry_after)


def is_passing(error: AdjutantError) -> bool:
    """Whether the same call may succeed later: the service is away, or it has too much to do."""
    if isinstance(error, Refused):
        return error.status in (408, 429) or error.status >= 500
    return isinstance(error, Unavailable)


def not_adjutant(why: str, retry_after: Optional[float] = None) -> Unavailable:
    return Unavailable(f"The server at this address is not Adjutant ({why[:80]}).", retry_after)


LONGEST_RETRY_AFTER_S = 60


def json_bytes(body: Any) -> bytes:
    """Half a surrogate pair is sent as an escape, which the service reads."""
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()


class Reconnection:
    """Pauses between attempts to reach the service: 0.2 s, doubled up to 5 s, shortened at random by up to a half.

    The time that the service names in `Retry-After` comes before that, up to 60 s of it.
    """

    def __init__(self) -> None:
        self._failures = 0

    def succeeded(self) -> None:
        self._failures = 0

    def next(self, failure: Optional[BaseException] = None) -> Pause:
        self._failures += 1
        delay: float = min(5.0, 0.2 * 2 ** min(self._failures - 1, 10)) * (1 - 0.5 * random.random())
        after = failure.retry_after if isinstance(failure, (Refused, Unavailable)) else None
        return Pause(delay + min(after or 0, LONGEST_RETRY_AFTER_S))
