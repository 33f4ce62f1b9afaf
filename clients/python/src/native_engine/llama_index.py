"""A collection as a vector store of LlamaIndex. Needs the extra `llama-index`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from . import Client
from ._vector_store import batches, id_of, schema, search, upsert

_MODES = {
    VectorStoreQueryMode.DEFAULT: (True, False),
    VectorStoreQueryMode.TEXT_SEARCH: (False, True),
    VectorStoreQueryMode.HYBRID: (True, True),
}
_RANGES = {
    FilterOperator.GT: "gt",
    FilterOperator.GTE: "gte",
    FilterOperator.LT: "lt",
    FilterOperator.LTE: "lte",
}


class NativeEngineVectorStore(BasePydanticVectorStore):
    """Nodes of LlamaIndex in a collection, which is created with the first of them.

    `metadata_fields` names the fields of the metadata that filters use, with their kinds, for example
    `{"topic": "keyword", "year": "i64"}`. Queries may be by vector, by text or hybrid.
    """

    stores_text: bool = True
    flat_metadata: bool = False

    _client: Client = PrivateAttr()
    _namespace: Any = PrivateAttr()
    _collection: Any = PrivateAttr()
    _settings: dict[str, Any] = PrivateAttr()
    _is_created: bool = PrivateAttr(default=False)

    def __init__(
        self,
        *,
        client: Client | str,
        namespace: str,
        collection: str,
        metadata_fields: Mapping[str, Any] | None = None,
        distance: str = "cosine",
        analyzer: str = "standard",
    ) -> None:
        super().__init__(stores_text=True)
        self._client = Client(client) if isinstance(client, str) else client
        self._namespace = self._client.namespace(namespace)
        self._collection = self._namespace.collection(collection)
        # Deleting by the document that a node is a part of needs no field of the user's.
        fields = {"ref_doc_id": "keyword", **(metadata_fields or {})}
        self._settings = {"distance": distance, "analyzer": analyzer, "metadata_fields": fields}

    @classmethod
    def class_name(cls) -> str:
        return "NativeEngineVectorStore"

    @property
    def client(self) -> Client:
        return self._client

    def add(self, nodes: list[BaseNode], **kwargs: Any) -> list[str]:  # type: ignore[override]
        if not nodes:
            return []
        self._create(len(nodes[0].get_embedding()))
        for batch in batches(_upsert(node) for node in nodes):
            self._collection.write(batch)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """The nodes of one document."""
        self._collection.delete_by_filter({"term": {"ref_doc_id": ref_doc_id}})

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        for batch in batches({"delete": {"id": id_of(key)}} for key in node_ids or ()):
            self._collection.write(batch)
        if filters is not None:
            self._collection.delete_by_filter(_filters(filters))

    def clear(self) -> None:
        self._collection.drop()
        self._is_created = False

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        if node_ids is not None:
            found = self._collection.get_many(id_of(key) for key in node_ids)
            return [_node(document["source"]) for document in found if document is not None]
        matching = None if filters is None else _filters(filters)
        return [_node(document["source"]) for document in self._collection.scroll(filter=matching)]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        if query.mode not in _MODES:
            raise NotImplementedError(f"the query mode {query.mode} is not supported")
        by_vector, by_text = _MODES[query.mode]
        matching = None if query.filters is None else _filters(query.filters)
        if query.node_ids:
            ids = {"ids": {"values": [id_of(key) for key in query.node_ids]}}
            matching = ids if matching is None else {"and": [ids, matching]}
        body = search(
            self._collection.name,
            query.query_embedding if by_vector else None,
            query.query_str if by_text else None,
            query.similarity_top_k,
            matching,
        )
        rows = self._namespace.query(body)["rows"]
        return VectorStoreQueryResult(
            nodes=[_node(row) for row in rows],
            similarities=[row["_score"] for row in rows],
            ids=[row["key"] for row in rows],
        )

    def _create(self, dim: int) -> None:
        if not self._is_created:
            self._namespace.create_collection(self._collection.name, schema(dim, **self._settings))
            self._is_created = True


def _upsert(node: BaseNode) -> dict[str, Any]:
    metadata = node_to_metadata_dict(node, remove_text=True, flat_metadata=False)
    return upsert(node.node_id, node.get_content(MetadataMode.NONE), metadata, node.get_embedding())


def _node(source: Mapping[str, Any]) -> BaseNode:
    node = metadata_dict_to_node(source["metadata"])
    node.set_content(source["text"])
    return node


def _filters(filters: MetadataFilters) -> dict[str, Any]:
    parts = [_filters(each) if isinstance(each, MetadataFilters) else _filter(each) for each in filters.filters]
    if filters.condition == FilterCondition.OR:
        return {"or": parts}
    if filters.condition == FilterCondition.NOT:
        return {"not": {"and": parts}}
    return {"and": parts}


def _filter(filter: MetadataFilter) -> dict[str, Any]:
    key, value, operator = filter.key, filter.value, filter.operator
    if operator in _RANGES:
        return {"range": {key: {_RANGES[operator]: value}}}
    if operator == FilterOperator.EQ:
        return {"term": {key: value}}
    if operator == FilterOperator.NE:
        return {"not": {"term": {key: value}}}
    if operator in (FilterOperator.IN, FilterOperator.ANY):
        return {"terms": {key: value}}
    if operator == FilterOperator.NIN:
        return {"not": {"terms": {key: value}}}
    if operator == FilterOperator.ALL:
        return {"and": [{"term": {key: each}} for each in value]}  # type: ignore[union-attr]
    if operator == FilterOperator.IS_EMPTY:
        return {"not": {"exists": {"field": key}}}
    raise NotImplementedError(f"the filter operator {operator} is not supported")
