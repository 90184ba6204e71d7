"""The text of models in a stream of signals. It never joins the output of two attempts without an event `restart` between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Literal

from .models import Signal, SignalLlmDelta, SignalLlmResponse


@dataclass(frozen=True)
class TextEvent:
    """`content` and `thinking`: added text. `restart`: all earlier text of the call is void. `end`: the call has ended."""

    kind: Literal["content", "thinking", "restart", "end"]
    call_id: str
    text: str = ""


@dataclass
class _Call:
    attempt: int = 0
    content: str = ""
    wrote: bool = False
    ended: bool = False
    half: Dict[str, str] = field(default_factory=dict)
    """First half of a character whose other half is in the next chunk, by kind."""


class TextReader:
    """Turns signals, in their order, into text."""

    def __init__(self) -> None:
        self._calls: Dict[str, _Call] = {}

    def read(self, signal: Signal) -> List[TextEvent]:
        """The events of the next signal."""
        if not isinstance(signal, (SignalLlmDelta, SignalLlmResponse)):
            return []
        call_id = signal.data.call_id
        call = self._calls.setdefault(call_id, _Call())
        if call.ended:
            return []
        if isinstance(signal, SignalLlmDelta):
            return self._delta(call, signal)
        call.ended = True
        return [*self._missing(call, signal), TextEvent("end", call_id)]

    def _delta(self, call: _Call, signal: SignalLlmDelta) -> List[TextEvent]:
        kind, text, call_id = signal.data.chunk_type, signal.data.delta, signal.data.call_id
        attempt = signal.attempt or 1
        # The last deltas of an abandoned attempt may be written after the next one has begun.
        if attempt < call.attempt:
            return []
        events = _restart(call, call_id) if attempt > call.attempt else []
        call.attempt = attempt
        call.wrote = call.wrote or bool(text)
        if not isinstance(text, str) or kind not in ("content", "thinking"):
            return events
        text = _whole(call, kind, text)
        if not text:
            return events
        if kind == "content":
            call.content += text
        return [*events, TextEvent("content" if kind == "content" else "thinking", call_id, text)]

    def _missing(self, call: _Call, signal: SignalLlmResponse) -> List[TextEvent]:
        """The response holds the whole text: it completes what a late reader missed, and replaces what differs."""
        result, call_id = signal.data.result, signal.data.call_id
        payload = getattr(result, "payload", None)
        text = payload.get("text") if isinstance(payload, dict) else None
        if not isinstance(text, str):
            return []
        events = [] if text.startswith(call.content) else _restart(call, call_id)
        missing = text[len(call.content) :]
        return [*events, TextEvent("content", call_id, missing)] if missing else events


def _whole(call: _Call, kind: str, text: str) -> str:
    """The text with whole characters only; half a character is kept for the next chunk."""
    text = call.half.pop(kind, "") + text
    if text and "\ud800" <= text[-1] <= "\udbff":
        text, call.half[kind] = text[:-1], text[-1]
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _restart(call: _Call, call_id: str) -> List[TextEvent]:
    if not call.wrote:
        return []
    call.content, call.wrote, call.half = "", False, {}
    return [TextEvent("restart", call_id)]
