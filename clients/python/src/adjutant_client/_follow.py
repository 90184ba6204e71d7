"""Position of a follower in the log of a request, and the events of its stream. It never skips or repeats a sequence."""

from __future__ import annotations

import json
from typing import Iterator, Optional

from pydantic import TypeAdapter

from ._exchange import Call, Pause, Reconnection, parsed, path
from .errors import AdjutantError, Refused, Unavailable
from .models import Signal

SIGNAL: TypeAdapter[Signal] = TypeAdapter(Signal)


class Follower:
    """Reads streams until the request is closed. A client sends `call()` again after each pause that `cut` returns."""

    def __init__(self, request_id: str, after: int) -> None:
        self.ended = False
        self._path = path("requests", request_id, "signals")
        self._last = after
        self._last_of_connection = after
        self._reached = False
        self._reconnection = Reconnection()
        self._rest = b""

    def call(self) -> Call:
        self._rest = b""
        self._last_of_connection = self._last
        headers = {"accept": "text/event-stream", "last-event-id": str(self._last)}
        return Call("GET", self._path, headers=headers)

    def opened(self, status: int) -> None:
        """The service has answered with a stream, or with 204 where nothing follows."""
        self._reached = True
        self.ended = status == 204

    def read(self, chunk: bytes) -> Iterator[Signal]:
        """New signals of a chunk. Returns early where a signal is missing; the client reads again from the last one then."""
        *events, self._rest = (self._rest + chunk).split(b"\n\n")
        for event in events:
            lines = [line.partition(b":") for line in event.split(b"\n")]
            data = b"\n".join(value.removeprefix(b" ") for name, _, value in lines if name == b"data")
            if not data:
                continue
            if any(name == b"event" and value.strip() == b"adjutant.end" for name, _, value in lines):
                self.ended = self._last >= int(json.loads(data)["last_sequence"])
                raise Cut
            signal = parsed(SIGNAL, data)
            if signal.sequence > self._last + 1:
                raise Cut
            if signal.sequence == self._last + 1:
                self._last = signal.sequence
                yield signal

    def cut(self, failure: Optional[AdjutantError]) -> Pause:
        """The pause before the next connection. Raises a refusal, and a failure where the service was never reached."""
        if failure is not None and (isinstance(failure, Refused) or not self._reached):
            raise failure
        if self._last > self._last_of_connection:
            self._reconnection.succeeded()
        return self._reconnection.next(failure)


class Cut(Exception):
    """The connection has nothing more that can be used."""


def silent(seconds: float) -> Unavailable:
    return Unavailable(f"The connection was silent for {seconds:g} s.")
