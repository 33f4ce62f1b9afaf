# Made from _async by unasync.py.
from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Literal

import httpx

from .._error import ServiceError, failure_of
from .._options import Call, RetryOptions, given, part
from .._session import ConsistencyToken, Session
from .._types import KeyInfo, NamespaceInfo, NewKey
from .namespace import NamespaceClient
from .transport import ApiKey, Transport


class Client:
    """A session with one service. Its reads see its own writes, whichever process serves them; the session's token,
    given to another client, extends that to its reads."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        api_key: ApiKey = None,
        token: ConsistencyToken = (),
        retry: RetryOptions | None = None,
        attempt_ms: float = 60_000,
        on_retry: Callable[[ServiceError, float], None] | None = None,
        verify: ssl.SSLContext | str | bool = True,
    ) -> None:
        """`api_key` is a text or a function that is asked at each request. `verify` is the file of a certificate
        authority, a context of TLS, or False to trust anybody."""
        self._transport = Transport(url, api_key, token, retry or RetryOptions(), attempt_ms, on_retry, verify)

    @property
    def url(self) -> str:
        return self._transport.url

    @property
    def session(self) -> Session:
        """What was written so far; `session.token` and `session.merge` carry it from one client to another."""
        return self._transport.session

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def namespace(self, name: str) -> NamespaceClient:
        return NamespaceClient(self._transport, name)

    def namespaces(self) -> list[NamespaceInfo]:
        reply = self._transport.call(Call("GET", "/v1/namespaces", "read", True))
        namespaces: list[NamespaceInfo] = reply["namespaces"]
        return namespaces

    def create_namespace(self, name: str) -> dict[str, int]:
        call = Call("POST", "/v1/namespaces", "write", False, body={"name": name})
        reply: dict[str, int] = self._transport.call(call)
        return reply

    def keys(self) -> list[KeyInfo]:
        """The API keys that were created, ended ones too, for admins of the instance."""
        reply = self._transport.call(Call("GET", "/v1/instance/keys", "read", True))
        keys: list[KeyInfo] = reply["keys"]
        return keys

    def create_key(
        self,
        name: str,
        role: Literal["reader", "writer", "admin"],
        *,
        namespace: str | None = None,
        namespaces: Sequence[str] | None = None,
        lifetime_ms: int | None = None,
    ) -> NewKey:
        """For one namespace, several, or all of them. The answer has the key itself, which is shown only once."""
        scope = given(namespace=namespace, namespaces=None if namespaces is None else list(namespaces))
        body = {"name": name, "role": role, **scope, **given(lifetime_ms=lifetime_ms)}
        key: NewKey = self._transport.call(Call("POST", "/v1/instance/keys", "write", False, body=body))
        return key

    def revoke_key(self, name: str) -> KeyInfo:
        key: KeyInfo = self._transport.call(Call("DELETE", f"/v1/instance/keys/{part(name)}", "write", False))
        return key

    def health(self) -> None:
        """Returns while the process is up. Asked once, without retries: the answer is about now."""
        self._probe("/health")

    def ready(self) -> None:
        """Returns when the server takes work."""
        self._probe("/ready")

    def instance(self) -> dict[str, Any]:
        return self._rpc("service.instance.v1.InstanceService/GetInstance")

    def who_am_i(self) -> dict[str, Any]:
        """Who the service takes the caller for."""
        return self._rpc("service.instance.v1.InstanceService/WhoAmI")

    def request(self, call: Call) -> Any:
        """A request that the client has no method for; the path starts with `/`."""
        return self._transport.call(call)

    def _probe(self, path: str) -> None:
        try:
            self._transport.once(Call("GET", path, "read", False))
        except httpx.HTTPError as error:
            raise failure_of(error) from error

    def _rpc(self, path: str) -> dict[str, Any]:
        reply: dict[str, Any] = self._transport.call(Call("POST", f"/{path}", "read", True, body={}))
        return reply
