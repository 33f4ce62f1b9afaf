from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from ._options import given
from ._types import NewRecord, RecordFormat, StoredHeader, StoredRecord, Timestamp


def format_query(format: RecordFormat) -> dict[str, str]:
    return {} if format == "bytes" else {"format": format}


def from_query(start: int | Timestamp) -> dict[str, int]:
    return {"timestamp_ms": start.timestamp_ms} if isinstance(start, Timestamp) else {"offset": start}


def record_json(record: NewRecord, format: RecordFormat) -> dict[str, Any]:
    headers = record.get("headers")
    body = {
        **_field("key", record.get("key"), "text" if format == "json" else format),
        **(_json_field(record) if format == "json" else _field("value", record.get("value"), format)),
        **given(timestamp_ms=record.get("timestamp_ms")),
    }
    if headers is not None:
        kind: RecordFormat = "text" if format == "json" else format
        body["headers"] = [{"key": each["key"], **_field("value", each.get("value"), kind)} for each in headers]
    return body


def _json_field(record: NewRecord) -> dict[str, Any]:
    """A value of None is JSON's null; a record that has no value at all has no such key."""
    if "value" not in record:
        return {}
    value = record["value"]
    return _field("value", value, "bytes_beside") if isinstance(value, bytes) else {"value": value}


def _field(name: str, value: Any, format: str) -> dict[str, Any]:
    if value is None:
        return {}
    if format == "bytes":
        data = value.encode() if isinstance(value, str) else bytes(value)
        return {name: base64.b64encode(data).decode()}
    if isinstance(value, str):
        return {name: value}
    return {f"{name}_base64": base64.b64encode(bytes(value)).decode()}


def stored_record(partition: int, body: Mapping[str, Any], format: RecordFormat) -> StoredRecord:
    return StoredRecord(
        partition=partition,
        offset=body["offset"],
        timestamp_ms=body["timestamp_ms"],
        key=_value("key", body, format),
        value=_value("value", body, format),
        headers=tuple(StoredHeader(each["key"], _value("value", each, format)) for each in body.get("headers") or ()),
    )


def _value(name: str, body: Mapping[str, Any], format: RecordFormat) -> Any:
    encoded = body.get(f"{name}_base64")
    if encoded is not None:
        return base64.b64decode(encoded)
    value = body.get(name)
    return base64.b64decode(value) if format == "bytes" and value is not None else value
