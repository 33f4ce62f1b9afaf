# Made from _async by unasync.py.
from __future__ import annotations

import time
import json
import ssl
from collections.abc import Callable
from typing import Any, Union

import httpx

from .._error import ServiceError, error_of, failure_of, is_retryable
from .._options import Call, RetryOptions
from .._session import ConsistencyToken, Session, is_token

ApiKey = Union[str, Callable[[], str], None]


class Transport:
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
        self._http = httpx.Client(base_url=self.url, verify=context)

    def close(self) -> None:
        self._http.close()

    def call(self, call: Call) -> Any:
        """The parsed answer. A write's token joins the session."""
        response = self.attempts(call)
        reply = json.loads(response.content) if response.content else None
        if call.kind == "write":
            self._learn(reply, response)
        return reply

    def attempts(self, call: Call) -> httpx.Response:
        """Sends until there is an answer, or it must not be repeated."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return self.once(call)
            except (ServiceError, httpx.HTTPError) as error:
                failure = failure_of(error)
                if attempt >= self.retry.attempts_max or not is_retryable(failure, call.repeatable):
                    raise failure from (None if failure is error else error)
                self.wait_before(attempt, failure)

    def once(self, call: Call) -> httpx.Response:
        request = self.request(call, (self._attempt_ms + call.wait_ms) / 1000)
        response = self._http.send(request)
        if not response.is_success:
            raise error_of(response.status_code, response.headers, response.content)
        return response

    def wait_before(self, attempt: int, error: ServiceError) -> None:
        wait_ms = self.retry.wait_before(attempt, error)
        if self._on_retry is not None:
            self._on_retry(error, wait_ms)
        time.sleep(wait_ms / 1000)

    def credential(self) -> str | None:
        """An API key or access token; a function is asked for it at each request."""
        key = self._api_key() if callable(self._api_key) else self._api_key
        return key

    def request(self, call: Call, read_seconds: float) -> httpx.Request:
        headers = dict(call.headers)
        credential = self.credential()
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

    def send_stream(self, call: Call, read_seconds: float) -> httpx.Response:
        """The raw answer, for those who read it as a stream and close it."""
        response = self._http.send(self.request(call, read_seconds), stream=True)
        if not response.is_success:
            body = response.read()
            response.close()
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
