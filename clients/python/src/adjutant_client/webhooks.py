"""Verification of webhooks as Standard Webhooks defines it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from typing import Mapping, Optional, Sequence, Union

from pydantic import TypeAdapter, ValidationError

from .errors import SignatureInvalid
from .models import WebhookEvent

TOLERANCE_S = 300
"""Largest difference between the clocks of the sender and the receiver, in seconds."""

_EVENT: TypeAdapter[WebhookEvent] = TypeAdapter(WebhookEvent)


def verify_webhook(
    secret: Union[str, Sequence[str]],
    headers: Mapping[str, str],
    body: Union[bytes, str],
    *,
    now: Optional[float] = None,
) -> WebhookEvent:
    """The event of a webhook whose signature is valid.

    `secret`: `whsec_` and base64; several during a rotation. `body`: as received, not parsed. `now`: seconds since the epoch; default: the clock.
    The header `webhook-id` is the same in each repeat of a message: skip those that you have seen.
    Raises `SignatureInvalid`; answer 401 then.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    message_id, sent_at, given = (lower.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not message_id or not given or not (sent_at.isascii() and sent_at.isdigit()):
        raise SignatureInvalid("The headers of a webhook are missing or malformed.")
    if len(sent_at) > 12 or abs((time.time() if now is None else now) - int(sent_at)) > TOLERANCE_S:
        raise SignatureInvalid("The webhook is too old, or the clocks differ.")
    content = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{message_id}.{int(sent_at)}.".encode() + content
    given_signatures = [part[3:].encode() for part in given.split(" ") if part.startswith("v1,")]
    secrets = [secret] if isinstance(secret, str) else secret
    expected = [base64.b64encode(hmac.digest(_key(each), signed, hashlib.sha256)) for each in secrets]
    if not any(hmac.compare_digest(one, other) for one in expected for other in given_signatures):
        raise SignatureInvalid("No signature of the webhook is valid.")
    try:
        return _EVENT.validate_json(content)
    except ValidationError:
        raise SignatureInvalid("The body of the webhook is no event.") from None


def _key(secret: str) -> bytes:
    text = secret[len("whsec_") :] if secret.startswith("whsec_") else secret
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("A secret is whsec_ and base64.")
    return key
