from __future__ import annotations

import asyncio
import inspect
import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Union

import httpx

from .._error import ServiceError, error_of, failure_of, is_retryable
from .._options import Call, RetryOptions
from .._session import ConsistencyToken, Session, is_token

ApiKey = Union[str, Callable[[], Union[str, Awaitable[str]]], None]


class AsyncTransport:
    """Sends requests: credential, token, retries, time-outs."""

    def __init__(
        self,
        url: str,
        api_key: ApiKey,
        token: ConsistencyToken,
        retry: RetryOptions,
        attempt_ms: float,
        on_retry: Callable[[ServiceError, float], None] | None,
        verify: ssl.SSLContext | str | bool,
    ) -> None:
        self.url = url.rstrip("/")
        self.session = Session(token)
        self.retry = retry
        self.verify = verify
        self._api_key = api_key
        self._attempt_ms = attempt_ms
        self._on_retry = on_retry
        context = ssl.create_default_context(cafile=verify) if isinstance(verify, str) else verify
        self._http = httpx.AsyncClient(base_url=self.url, verify=context)

    async def close(self) -> None:
        await self._http.aclose()

    async def call(self, call: Call) -> Any:
        """The parsed answer. A write's token joins the session."""
        response = await self.attempts(call)
        reply = json.loads(response.content) if response.content else None
        if call.kind == "write":
            self._learn(reply, response)
        return reply

    async def attempts(self, call: Call) -> httpx.Response:
        """Sends until there is an answer, or it must not be repeated."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self.once(call)
            except (ServiceError, httpx.HTTPError) as error:
                failure = failure_of(error)
                if attempt >= self.retry.attempts_max or not is_retryable(failure, call.repeatable):
                    raise failure from (None if failure is error else error)
                await self.wait_before(attempt, failure)

    async def once(self, call: Call) -> httpx.Response:
        request = await self.request(call, (self._attempt_ms + call.wait_ms) / 1000)
        response = await self._http.send(request)
        if not response.is_success:
            raise error_of(response.status_code, response.headers, response.content)
        return response

    async def wait_before(self, attempt: int, error: ServiceError) -> None:
        wait_ms = self.retry.wait_before(attempt, error)
        if self._on_retry is not None:
            self._on_retry(error, wait_ms)
        await asyncio.sleep(wait_ms / 1000)

    async def credential(self) -> str | None:
        """An API key or access token; a function is asked for it at each request."""
        key = self._api_key() if callable(self._api_key) else self._api_key
        return await key if inspect.isawaitable(key) else key

    async def request(self, call: Call, read_seconds: float) -> httpx.Request:
        headers = dict(call.headers)
        credential = await self.credential()
        if credential is not None:
            headers["authorization"] = f"Bearer {credential}"
        token = self.session.header if call.kind == "read" else None
        if token is not None:
            headers["service-consistency-token"] = token
        content = None
        if call.body is not None:
            headers.setdefault("content-type", "application/json")
            content = json.dumps(call.body, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
        return self._http.build_request(
            call.method,
            call.path,
            params={name: value for name, value in call.query.items() if value is not None} or None,
            headers=headers,
            content=content,
            timeout=httpx.Timeout(self._attempt_ms / 1000, read=read_seconds),
        )

    async def send_stream(self, call: Call, read_seconds: float) -> httpx.Response:
        """The raw answer, for those who read it as a stream and close it."""
        response = await self._http.send(await self.request(call, read_seconds), stream=True)
        if not response.is_success:
            body = await response.aread()
            await response.aclose()
            raise error_of(response.status_code, response.headers, body)
        return response

    def _learn(self, reply: Any, response: httpx.Response) -> None:
        # The header is left out where it would be too long; the body has the token always.
        token = reply.get("token") if isinstance(reply, dict) else None
        header = response.headers.get("service-consistency-token")
        if token is not None and is_token(token):
            self.session.merge(token)
        elif header is not None:
            self.session.merge(json.loads(header))
