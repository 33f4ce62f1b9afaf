from __future__ import annotations

import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from ._error import ServiceError


@dataclass(frozen=True)
class RetryOptions:
    #: Attempts altogether; 1 never retries.
    attempts_max: int = 8
    #: The wait before the first retry; it doubles from one to the next, up to `wait_ms_max`.
    wait_ms: float = 100
    wait_ms_max: float = 5_000

    def wait_before(self, attempt: int, error: ServiceError) -> float:
        """Milliseconds: as long as the service asked, longer from one attempt to the next, never in step with others."""
        back_off = min(self.wait_ms_max, self.wait_ms * 2.0 ** (attempt - 1))
        jittered = back_off / 2 + random.random() * back_off / 2
        asked = 0 if error.retry_after_ms is None else error.retry_after_ms + jittered / 4
        return max(jittered, asked)


@dataclass(frozen=True)
class Call:
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    #: A write's own token joins the session; a read carries the session's.
    kind: Literal["read", "write"]
    #: Whether it may be sent again when it is unknown if the first attempt had an effect.
    repeatable: bool
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Beside `attempt_ms`: what the request itself asks the server to wait.
    wait_ms: float = 0


def part(name: str | int) -> str:
    """A name as a part of a path."""
    return quote(str(name), safe="")


def random_key() -> str:
    """A key that no other write has."""
    return secrets.token_hex(16)


def given(**values: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}
