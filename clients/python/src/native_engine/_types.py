"""Bodies as they are on the wire, under the names that the API's documentation uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Union

from ._session import TokenEntry

Json = Mapping[str, Any]
Consistency = Literal["strong", "eventual"]
#: How the keys and values of records are given: as they are, as UTF-8 text, or values as JSON and keys as text.
RecordFormat = Literal["bytes", "text", "json"]


@dataclass(frozen=True)
class Timestamp:
    """Where reading starts: at the first record of this time or later."""

    timestamp_ms: int


#: Where reading starts: an offset, the first record there is, the next one to come, or the first one of a time.
From = Union[int, Literal["start", "end"], Timestamp]


class NamespaceInfo(TypedDict):
    id: int
    name: str


class QuotaState(TypedDict):
    max_bytes: int | None
    max_requests_per_second: int | None
    used_bytes: int


class KeyInfo(TypedDict):
    name: str
    id: str
    role: Literal["reader", "writer", "admin"]
    namespace: str | None
    namespaces: list[str] | None
    status: Literal["live", "expired", "revoked"]
    created_at: str
    expires_at: str | None
    revoked_at: str | None


class NewKey(KeyInfo):
    """With the key itself, which is shown only once."""

    key: str


class Retention(TypedDict, total=False):
    max_age_ms: int | None
    max_bytes: int | None


class _StreamListItem(TypedDict):
    name: str
    partitions: int


class StreamListItem(_StreamListItem, total=False):
    retention: Retention


class PartitionInfo(TypedDict):
    partition: int
    log_start_offset: int
    high_watermark: int


class StreamDetail(TypedDict):
    id: int
    partitions: list[PartitionInfo]
    retention: Retention


class NewHeader(TypedDict, total=False):
    key: str
    value: str | bytes | None


class NewRecord(TypedDict, total=False):
    """A record to append. Text is written as UTF-8; with the format `json` a value is anything that JSON has."""

    key: str | bytes | None
    value: Any
    headers: Sequence[NewHeader]
    timestamp_ms: int


@dataclass(frozen=True)
class StoredHeader:
    key: str
    value: Any


@dataclass(frozen=True)
class StoredRecord:
    """A record that was read. Its key and value are bytes; in other formats they are text or JSON where they can be."""

    partition: int
    offset: int
    timestamp_ms: int
    key: Any
    value: Any
    headers: tuple[StoredHeader, ...]


@dataclass(frozen=True)
class RecordPage:
    records: list[StoredRecord]
    next_offset: int
    high_watermark: int
    log_start_offset: int


class AppendReply(TypedDict):
    base_offset: int
    last_offset: int
    token: list[TokenEntry]


class RoutedAppend(AppendReply):
    partition: int


class RoutedAppendReply(TypedDict):
    appends: list[RoutedAppend]
    token: list[TokenEntry]


class EventResult(TypedDict):
    status: Literal["appended", "duplicate", "in_flight"]
    partition: int
    offset: int


class EventsReply(TypedDict):
    events: list[EventResult]
    token: list[TokenEntry]


@dataclass(frozen=True)
class EventPage:
    events: list[dict[str, Any]]
    next_offset: int
    high_watermark: int


class LinkTarget(TypedDict):
    kind: str
    name: str


class LinkListItem(TypedDict):
    name: str
    source: str
    target: LinkTarget
    status: Literal["running", "unregistered"]


class LinkDetail(LinkListItem, total=False):
    id: int
    options: dict[str, Any]
    version: int
    applied: list[dict[str, int]]
    lag: list[dict[str, int]]
    counters: dict[str, int]
    skipped: int
    errors: list[dict[str, Any]]
    error: str


class CollectionInfo(TypedDict):
    id: int
    namespace: str
    name: str
    aliases: list[str]
    schema: dict[str, Any]
    schema_version: int
    manifest: dict[str, Any]
    hot: dict[str, Any]
    backpressure: dict[str, Any]


class Alias(TypedDict):
    alias: str
    collection: str


class WriteResult(TypedDict):
    id: int
    status: Literal["created", "updated", "deleted", "noop", "condition_failed"]
    version: int


class WriteReply(TypedDict):
    token: list[TokenEntry]
    results: list[WriteResult]
    replayed: bool
    backlog: dict[str, Any]


class _Document(TypedDict):
    id: int
    version: int
    source: dict[str, Any]
    vectors: dict[str, list[float]]


class Document(_Document, total=False):
    sparse_vectors: dict[str, dict[str, list[float]]]


class DocumentPage(TypedDict):
    documents: list[Document]
    next_cursor: str | None
    token: list[TokenEntry]


class ScanPlan(TypedDict):
    lance: dict[str, Any] | None
    tail_records: int
    schema: dict[str, Any]
    token: list[TokenEntry]


class QueryReply(TypedDict, total=False):
    rows: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    facets: dict[str, list[dict[str, Any]]]
    token: list[TokenEntry]
    took_ms: float
    stats: dict[str, Any]


class SqlReply(TypedDict):
    columns: list[dict[str, str]]
    rows: list[dict[str, Any]]
    row_count: int
    token: list[TokenEntry]
