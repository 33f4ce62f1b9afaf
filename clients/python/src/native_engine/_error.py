from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Mapping
from typing import Any

import httpx


class ServiceError(Exception):
    """What the service answered when it refused, or `unavailable` when there was no answer at all."""

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        status: int = 0,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retry_after_ms: float | None = None,
        never_sent: bool = False,
    ) -> None:
        super().__init__(message)
        #: The word to branch on: `not_found`, `conflict`, `resource_exhausted`, `unavailable`, …
        self.reason = reason
        self.message = message
        #: The HTTP status; 0 when there was no answer.
        self.status = status
        #: The whole error body: some reasons add fields, for example `id` or `high_watermark`.
        self.details: Mapping[str, Any] = details or {}
        #: The field at fault, where the request was bad.
        self.field: str | None = _text(self.details.get("field"))
        #: Finds the request in the server's log.
        self.request_id = request_id or _text(self.details.get("request_id"))
        #: How long the service asks to wait before the next attempt.
        self.retry_after_ms = retry_after_ms
        self._never_sent = never_sent

    @property
    def code(self) -> str:
        """The same word as `reason`, under the name that the Connect protocol uses."""
        return self.reason

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


def error_of(status: int, headers: httpx.Headers, body: bytes) -> ServiceError:
    text = body.decode("utf-8", "replace")
    details: dict[str, Any] = {}
    try:
        parsed = json.loads(text)
        if isinstance(parsed, dict):
            details = parsed
    except ValueError:
        pass  # Not the service's own answer: what it says is the message.
    # A rejected access token has a reason of its own beside the word of its status.
    reason = _text(details.get("reason")) or _text(details.get("error")) or _reason_of(status)
    return ServiceError(
        reason,
        _text(details.get("message")) or f"{status} {text[:200]}".strip(),
        status=status,
        details=details,
        request_id=headers.get("x-request-id"),
        retry_after_ms=_retry_after(headers.get("retry-after")),
    )


def failure_of(error: Exception) -> ServiceError:
    """What httpx raises when there is no answer, or only a part of one."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return ServiceError("unavailable", "the server did not answer in time")
    # The connection was never made, so that the request can't have had an effect.
    never_sent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    return ServiceError("unavailable", f"the server can't be reached: {error}", never_sent=never_sent)


def is_retryable(error: ServiceError, repeatable: bool) -> bool:
    # Refused before anything was done; a namespace that is full stays so until somebody makes room.
    if error.reason == "resource_exhausted" and error.status == 429:
        return error.details.get("quota") != "max_bytes"
    if error.status == 0 and error._never_sent:
        return True
    if not repeatable:
        return False
    # An event of the request is being written by another request: then the answer says when to ask again.
    if error.status == 409:
        return error.retry_after_ms is not None
    return error.reason == "unavailable"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _reason_of(status: int) -> str:
    """The reason of an answer that carries none, as one of a proxy in between."""
    if status == 429:
        return "resource_exhausted"
    if status in (502, 503, 504):
        return "unavailable"
    return "internal" if status >= 500 else "unknown"


def _retry_after(value: str | None) -> float | None:
    """Seconds, or a date as proxies send it."""
    if value is None:
        return None
    try:
        return max(0.0, float(value) * 1000)
    except ValueError:
        pass
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(value).timestamp() - time.time()) * 1000)
    except ValueError:
        return None
