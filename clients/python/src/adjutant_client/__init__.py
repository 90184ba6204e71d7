"""The HTTP client of Adjutant, which executes MCP tool calls, model calls and agent runs durably."""

from . import models
from .async_client import AsyncClient, AsyncRuns
from .client import Client, Runs
from .errors import AdjutantError, DirectiveFailed, Refused, SignatureInvalid, StepFailed, Unavailable, WorkFailed
from .text import TextEvent
from .webhooks import verify_webhook
from .worker import Work, Worker

__all__ = [
    "AdjutantError",
    "AsyncClient",
    "AsyncRuns",
    "Client",
    "DirectiveFailed",
    "Refused",
    "Runs",
    "SignatureInvalid",
    "StepFailed",
    "TextEvent",
    "Unavailable",
    "Work",
    "WorkFailed",
    "Worker",
    "models",
    "verify_webhook",
]
