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
from .namespace import AsyncNamespaceClient
from .transport import ApiKey, AsyncTransport


class AsyncClient:
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
        self._transport = AsyncTransport(url, api_key, token, retry or RetryOptions(), attempt_ms, on_retry, verify)

    @property
    def url(self) -> str:
        return self._transport.url

    @property
    def session(self) -> Session:
        """What was written so far; `session.token` and `session.merge` carry it from one client to another."""
        return self._transport.session

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def namespace(self, name: str) -> AsyncNamespaceClient:
        return AsyncNamespaceClient(self._transport, name)

    async def namespaces(self) -> list[NamespaceInfo]:
        reply = await self._transport.call(Call("GET", "/v1/namespaces", "read", True))
        namespaces: list[NamespaceInfo] = reply["namespaces"]
        return namespaces

    async def create_namespace(self, name: str) -> dict[str, int]:
        call = Call("POST", "/v1/namespaces", "write", False, body={"name": name})
        reply: dict[str, int] = await self._transport.call(call)
        return reply

    async def keys(self) -> list[KeyInfo]:
        """The API keys that were created, ended ones too, for admins of the instance."""
        reply = await self._transport.call(Call("GET", "/v1/instance/keys", "read", True))
        keys: list[KeyInfo] = reply["keys"]
        return keys

    async def create_key(
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
        key: NewKey = await self._transport.call(Call("POST", "/v1/instance/keys", "write", False, body=body))
        return key

    async def revoke_key(self, name: str) -> KeyInfo:
        key: KeyInfo = await self._transport.call(Call("DELETE", f"/v1/instance/keys/{part(name)}", "write", False))
        return key

    async def health(self) -> None:
        """Returns while the process is up. Asked once, without retries: the answer is about now."""
        await self._probe("/health")

    async def ready(self) -> None:
        """Returns when the server takes work."""
        await self._probe("/ready")

    async def instance(self) -> dict[str, Any]:
        return await self._rpc("service.instance.v1.InstanceService/GetInstance")

    async def who_am_i(self) -> dict[str, Any]:
        """Who the service takes the caller for."""
        return await self._rpc("service.instance.v1.InstanceService/WhoAmI")

    async def request(self, call: Call) -> Any:
        """A request that the client has no method for; the path starts with `/`."""
        return await self._transport.call(call)

    async def _probe(self, path: str) -> None:
        try:
            await self._transport.once(Call("GET", path, "read", False))
        except httpx.HTTPError as error:
            raise failure_of(error) from error

    async def _rpc(self, path: str) -> dict[str, Any]:
        reply: dict[str, Any] = await self._transport.call(Call("POST", f"/{path}", "read", True, body={}))
        return reply
