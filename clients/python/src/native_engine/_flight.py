"""SQL over Flight SQL, with the ADBC driver: results come as Arrow, without a text in between."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ._error import ServiceError

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Target:
    url: str
    api_key: str | None
    verify: ssl.SSLContext | str | bool
    namespace: str


def fetch(target: Target, query: str, params: Sequence[Any] | None) -> pyarrow.Table:
    try:
        import adbc_driver_flightsql
        import adbc_driver_flightsql.dbapi as dbapi
    except ImportError as error:
        raise ImportError("Arrow results need the extra: pip install 'native-engine-client[arrow]'") from error
    options = adbc_driver_flightsql.DatabaseOptions
    prefix = options.RPC_CALL_HEADER_PREFIX.value
    arguments: dict[str, str] = {f"{prefix}namespace": target.namespace}
    if target.api_key is not None:
        arguments[options.AUTHORIZATION_HEADER.value] = f"Bearer {target.api_key}"
    if target.verify is False:
        arguments[options.TLS_SKIP_VERIFY.value] = "true"
    elif isinstance(target.verify, str):
        with open(target.verify, encoding="utf-8") as file:
            arguments[options.TLS_ROOT_CERTS.value] = file.read()
    parts = urlsplit(target.url)
    is_secure = parts.scheme == "https"
    address = f"{parts.hostname}:{parts.port or (443 if is_secure else 80)}"
    try:
        with (
            dbapi.connect(f"grpc{'+tls' if is_secure else ''}://{address}", arguments, autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(query, parameters=params)
            return cursor.fetch_arrow_table()
    except dbapi.Error as error:
        raise ServiceError(_reason(error.status_code.name), str(error)) from error


def _reason(code: str) -> str:
    reasons = {
        "INVALID_ARGUMENT": "invalid_argument",
        "NOT_FOUND": "not_found",
        "UNAUTHENTICATED": "unauthenticated",
        "UNAUTHORIZED": "permission_denied",
        "TIMEOUT": "deadline_exceeded",
        "IO": "unavailable",
    }
    return reasons.get(code, "unknown")
