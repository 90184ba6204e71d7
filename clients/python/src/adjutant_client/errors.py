"""Errors of the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

if TYPE_CHECKING:
    from .models import ErrorEnvelope, Problem, Signal


class AdjutantError(Exception):
    """Base of all errors of the client."""


class Refused(AdjutantError):
    """The service refused the call. `code` is stable across versions; `problem` has the fault of each field.

    `retry_after`: seconds to wait, where the service names them, as with the status 429.
    """

    def __init__(self, problem: Problem, retry_after: Optional[float] = None) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem
        self.retry_after = retry_after

    @property
    def code(self) -> str:
        """Code of the problem, such as `id_conflict`."""
        return self.problem.code

    @property
    def status(self) -> int:
        """HTTP status."""
        return self.problem.status


class Unavailable(AdjutantError):
    """The service did not answer, or not in time; whether it acted is unknown. `retry_after`: seconds to wait, where the service names them."""

    def __init__(self, message: str, retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class DirectiveFailed(AdjutantError):
    """A directive ended in an error. `error` is its envelope, `signal` the terminal signal."""

    def __init__(self, signal: Signal, error: ErrorEnvelope) -> None:
        super().__init__(f"{error.type}: {error.message}")
        self.signal = signal
        self.error = error

    @property
    def type(self) -> str:
        """Type of the error, such as `timeout`."""
        return self.error.type


class StepFailed(AdjutantError):
    """The recorded error of a step that an earlier start of the program ran."""


class WorkFailed(AdjutantError):
    """Raised by your own directive type: its work failed, and had no effect. `retryable`: whether another attempt may succeed."""

    def __init__(
        self, type: str, message: str, *, details: Optional[Mapping[str, Any]] = None, retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.error = {"type": type, "message": message, "details": dict(details or {}), "retryable": retryable}


class SignatureInvalid(AdjutantError):
    """A webhook is not from the service, was changed, or is too old."""
