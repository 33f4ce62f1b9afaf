# Made from _async by unasync.py.
from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterable
from typing import Any

import httpx

from .._error import ServiceError, failure_of, is_retryable
from .._options import Call, given, part, random_key
from .._records import format_query, from_query, record_json, stored_record
from .._server_sent_events import EventParser
from .._types import (
    AppendReply,
    EventPage,
    EventsReply,
    From,
    NewRecord,
    PartitionInfo,
    RecordFormat,
    RecordPage,
    Retention,
    RoutedAppendReply,
    StoredRecord,
    StreamDetail,
    Timestamp,
)
from .merge import merge
from .transport import Transport

#: The server sends a sign of life every 15 s; past this the connection is taken for dead.
SILENCE_SECONDS_MAX = 45
READ_BYTES = 4 * 1024 * 1024


class StreamClient:
    """One stream of a namespace."""

    def __init__(self, transport: Transport, namespace_path: str, name: str) -> None:
        self.name = name
        self._transport = transport
        self._path = f"{namespace_path}/streams/{part(name)}"

    def get(self) -> StreamDetail:
        reply: StreamDetail = self._transport.call(Call("GET", self._path, "read", True))
        return reply

    def delete(self) -> None:
        self._transport.call(Call("DELETE", self._path, "write", False))

    def set_retention(self, retention: Retention | None) -> StreamDetail:
        """`None` keeps records for ever."""
        call = Call("PATCH", self._path, "write", True, body={"retention": retention})
        reply: StreamDetail = self._transport.call(call)
        return reply

    def append(
        self,
        partition: int,
        records: Iterable[NewRecord],
        *,
        match_offset: int | None = None,
        idempotency_key: str | None = None,
        format: RecordFormat = "bytes",
    ) -> AppendReply:
        """Appends to one partition, all records or none; durable when it returns."""
        body = {"records": [record_json(record, format) for record in records], **given(match_offset=match_offset)}
        reply: AppendReply = self._write(self._records(partition), body, idempotency_key, format)
        return reply

    def append_by_key(
        self, records: Iterable[NewRecord], *, idempotency_key: str | None = None, format: RecordFormat = "bytes"
    ) -> RoutedAppendReply:
        """Appends each record to the partition of its key, all records or none."""
        body = {"records": [record_json(record, format) for record in records]}
        reply: RoutedAppendReply = self._write(f"{self._path}/records", body, idempotency_key, format)
        return reply

    def fetch(
        self,
        *,
        partition: int = 0,
        from_: int | Timestamp,
        max_bytes: int | None = None,
        max_wait_ms: int = 0,
        format: RecordFormat = "bytes",
    ) -> RecordPage:
        query = {**from_query(from_), **given(max_bytes=max_bytes), "max_wait_ms": max_wait_ms, **format_query(format)}
        call = Call("GET", self._records(partition), "read", True, query=query, wait_ms=max_wait_ms)
        page = self._transport.call(call)
        return RecordPage(
            [stored_record(partition, record, format) for record in page["records"]],
            page["next_offset"],
            page["high_watermark"],
            page["log_start_offset"],
        )

    def append_events(self, events: Iterable[dict[str, Any]], *, partition: int | None = None) -> EventsReply:
        """Appends CloudEvents; each pair of source and id is written once, so that it is safe to repeat."""
        call = Call(
            "POST",
            f"{self._path}/events",
            "write",
            True,
            query=given(partition=partition),
            body=list(events),
            headers={"content-type": "application/cloudevents-batch+json"},
        )
        reply: EventsReply = self._transport.call(call)
        return reply

    def fetch_events(
        self, *, partition: int = 0, from_: int | Timestamp, max_bytes: int | None = None, max_wait_ms: int = 0
    ) -> EventPage:
        path = f"{self._path}/partitions/{partition}/events"
        query = {**from_query(from_), **given(max_bytes=max_bytes), "max_wait_ms": max_wait_ms}
        response = self._transport.attempts(Call("GET", path, "read", True, query=query, wait_ms=max_wait_ms))
        return EventPage(
            response.json(),
            int(response.headers["service-next-offset"]),
            int(response.headers["service-high-watermark"]),
        )

    def read(
        self, *, partition: int = 0, from_: From = "start", to: int | None = None, format: RecordFormat = "bytes"
    ) -> Generator[StoredRecord, None, None]:
        """The records up to the end that the partition has when it is first asked."""
        detail = self._partition(partition)
        end = detail["high_watermark"] if to is None else min(to, detail["high_watermark"])
        if from_ == "start":
            at: int | Timestamp = detail["log_start_offset"]
        elif from_ == "end":
            at = detail["high_watermark"]
        else:
            at = from_
        while isinstance(at, Timestamp) or at < end:
            page = self.fetch(partition=partition, from_=at, max_bytes=READ_BYTES, format=format)
            for record in page.records:
                if record.offset >= end:
                    return
                yield record
            if not page.records:
                return
            at = page.next_offset

    def tail(
        self, *, partition: int | None = None, from_: From = "end", format: RecordFormat = "bytes"
    ) -> Generator[StoredRecord, None, None]:
        """Records as they come, for ever: a lost connection is taken up again where it ended, as long as the server
        comes back. Without a partition all of them, each in its own order."""
        if partition is not None:
            tails = [self._tail_one(partition, from_, format)]
        else:
            detail = self.get()
            tails = [self._tail_one(each["partition"], from_, format) for each in detail["partitions"]]
        merged = tails[0] if len(tails) == 1 else merge(tails)
        with contextlib.closing(merged):
            for record in merged:
                if record is not None:
                    yield record

    def _tail_one(
        self, partition: int, from_: From, format: RecordFormat
    ) -> Generator[StoredRecord | None, None, None]:
        """None is a sign of life."""
        at = self._resolve(partition, from_)
        failures = 0
        while True:
            failure = ServiceError("unavailable", "the server ended the tail")
            try:
                with contextlib.closing(self._connect(partition, at, format)) as records:
                    for record in records:
                        failures = 0
                        if record is not None:
                            at = record.offset + 1
                        yield record
            except (ServiceError, httpx.HTTPError) as error:
                failure = failure_of(error)
                # A tail is meant to stay: it waits for as long as the server is away.
                if not is_retryable(failure, True):
                    raise failure from (None if failure is error else error)
            failures += 1
            self._transport.wait_before(min(failures, 8), failure)

    def _connect(
        self, partition: int, at: int | Timestamp, format: RecordFormat
    ) -> Generator[StoredRecord | None, None, None]:
        """Records of one connection."""
        query = {**from_query(at), **format_query(format)}
        headers = {"accept": "text/event-stream"}
        call = Call("GET", self._records(partition), "read", True, query=query, headers=headers)
        response = self._transport.send_stream(call, SILENCE_SECONDS_MAX)
        parser = EventParser()
        try:
            for chunk in response.iter_bytes():
                for event in parser.feed(chunk):
                    if event is None:
                        yield None
                    elif event.event == "error":
                        raise _tail_error(event.data)
                    else:
                        yield stored_record(partition, json.loads(event.data), format)
        finally:
            response.close()

    def _resolve(self, partition: int, from_: From) -> int | Timestamp:
        if from_ == "start":
            return (self._partition(partition))["log_start_offset"]
        if from_ == "end":
            return (self._partition(partition))["high_watermark"]
        return from_

    def _partition(self, partition: int) -> PartitionInfo:
        partitions = (self.get())["partitions"]
        if not 0 <= partition < len(partitions):
            raise ServiceError("not_found", f"there is no partition {partition}")
        return partitions[partition]

    def _write(self, path: str, body: Any, key: str | None, format: RecordFormat) -> Any:
        headers = {"idempotency-key": key or random_key()}
        call = Call("POST", path, "write", True, query=format_query(format), body=body, headers=headers)
        return self._transport.call(call)

    def _records(self, partition: int) -> str:
        return f"{self._path}/partitions/{part(partition)}/records"


def _tail_error(data: str) -> ServiceError:
    body = json.loads(data)
    reason = body.get("error") or "internal"
    status = 503 if reason == "unavailable" else 500
    return ServiceError(reason, body.get("message") or "the tail failed", status=status, details=body)
