"""What the vector stores of LangChain and LlamaIndex share: how their documents lie in a collection."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

#: Documents of one write: with large vectors still far below the largest body that the server takes.
BATCH_DOCUMENTS = 200

_FILTER_KINDS = frozenset("term terms range exists prefix wildcard ids match phrase match_all and or not bool".split())

T = TypeVar("T")


def schema(dim: int, distance: str, analyzer: str, metadata_fields: Mapping[str, Any] | None) -> dict[str, Any]:
    fields: list[dict[str, Any]] = [
        {"name": "key", "kind": "keyword"},
        {"name": "text", "kind": {"text": {"analyzer": analyzer, "positions": True}}},
        {"name": "metadata", "kind": "json", "indexed": False},
    ]
    for name, kind in (metadata_fields or {}).items():
        fields.append({"name": name, "kind": kind, "source_path": f"metadata.{name}"})
    return {"fields": fields, "vectors": [{"name": "embedding", "dim": dim, "distance": distance}]}


def id_of(key: str) -> int:
    """The service's ids are whole numbers: 53 bits of the digest of the text that others use. The text is kept as `key`."""
    digest = hashlib.sha256(key.encode()).digest()
    return (int.from_bytes(digest[:4], "big") >> 11 << 32) | int.from_bytes(digest[4:8], "big")


def upsert(key: str, text: str, metadata: Mapping[str, Any], vector: Sequence[float]) -> dict[str, Any]:
    source = {"key": key, "text": text, "metadata": dict(metadata)}
    return {"upsert": {"id": id_of(key), "source": source, "vectors": {"embedding": [float(x) for x in vector]}}}


def filter_of(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A filter of the query API, or values that fields of the metadata must have."""
    if given is None:
        return None
    if len(given) == 1:
        ((name, value),) = given.items()
        if name in _FILTER_KINDS and isinstance(value, (Mapping, list)):
            return dict(given)
    return {"and": [{"term": {name: value}} for name, value in given.items()]}


def search(
    collection: str,
    vector: Sequence[float] | None,
    text: str | None,
    k: int,
    filter: Mapping[str, Any] | None,
    with_vectors: bool = False,
) -> dict[str, Any]:
    """By vector, by text, or by both with their rankings fused."""
    retrieve: list[dict[str, Any]] = []
    if vector is not None:
        retrieve.append({"vector": {"field": "embedding", "query": [float(x) for x in vector], "k": k}})
    if text is not None:
        retrieve.append({"text": {"field": "text", "query": text, "k": k}})
    query: dict[str, Any] = {"from": collection, "retrieve": retrieve, "limit": k}
    query["select"] = ["key", "text", "metadata", *(["embedding"] if with_vectors else [])]
    if filter is not None:
        query["filter"] = filter
    return query


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == BATCH_DOCUMENTS:
            yield batch
            batch = []
    if batch:
        yield batch
