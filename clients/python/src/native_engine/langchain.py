"""A collection as a vector store of LangChain. Needs the extra `langchain`."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from . import Client
from ._vector_store import batches, filter_of, id_of, schema, search, upsert


class NativeEngineVectorStore(VectorStore):
    """Documents of LangChain in a collection, which is created with the first of them.

    `metadata_fields` names the fields of the metadata that filters use, with their kinds, for example
    `{"topic": "keyword", "year": "i64"}`. All metadata are kept, whether named there or not. `hybrid` searches by
    text, too, and fuses both rankings.
    """

    def __init__(
        self,
        embedding: Embeddings,
        *,
        client: Client | str,
        namespace: str,
        collection: str,
        metadata_fields: Mapping[str, Any] | None = None,
        distance: str = "cosine",
        analyzer: str = "standard",
        hybrid: bool = False,
    ) -> None:
        self._embedding = embedding
        self._client = Client(client) if isinstance(client, str) else client
        self._namespace = self._client.namespace(namespace)
        self._collection = self._namespace.collection(collection)
        self._metadata_fields = metadata_fields
        self._distance = distance
        self._analyzer = analyzer
        self._hybrid = hybrid
        self._is_created = False

    @property
    def embeddings(self) -> Embeddings:
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> NativeEngineVectorStore:
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Documents with the ids of earlier ones replace them."""
        given = list(texts)
        if not given:
            return []
        vectors = self._embedding.embed_documents(given)
        self._create(len(vectors[0]))
        keys = [(ids[at] if ids else None) or str(uuid.uuid4()) for at in range(len(given))]
        ops = (
            upsert(key, text, metadatas[at] if metadatas else {}, vectors[at])
            for at, (key, text) in enumerate(zip(keys, given))
        )
        for batch in batches(ops):
            self._collection.write(batch)
        return keys

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """By ids, or what matches `filter`."""
        for batch in batches({"delete": {"id": id_of(key)}} for key in ids or ()):
            self._collection.write(batch)
        matching = filter_of(kwargs.get("filter"))
        if matching is not None:
            self._collection.delete_by_filter(matching)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        found = self._collection.get_many(id_of(key) for key in ids)
        return [_document(document["source"]) for document in found if document is not None]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        vector = self._embedding.embed_query(query)
        rows = self._search(vector, query if self._hybrid else None, k, kwargs.get("filter"))
        return [(_document(row), row["_score"]) for row in rows]

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        return [_document(row) for row in self._search(embedding, None, k, kwargs.get("filter"))]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        vector = self._embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        rows = self._search(embedding, None, fetch_k, kwargs.get("filter"), with_vectors=True)
        vectors = [row["embedding"] for row in rows]
        chosen = maximal_marginal_relevance(numpy.array(embedding), vectors, lambda_mult=lambda_mult, k=k)
        return [_document(rows[at]) for at in chosen]

    def _select_relevance_score_fn(self) -> Any:
        # A cosine is 1 for the same direction and -1 for the opposite one.
        return (lambda score: (score + 1) / 2) if self._distance == "cosine" and not self._hybrid else (lambda s: s)

    def _search(
        self,
        vector: list[float],
        text: str | None,
        k: int,
        filter: Mapping[str, Any] | None,
        with_vectors: bool = False,
    ) -> list[dict[str, Any]]:
        query = search(self._collection.name, vector, text, k, filter_of(filter), with_vectors)
        return self._namespace.query(query)["rows"]

    def _create(self, dim: int) -> None:
        if self._is_created:
            return
        made = schema(dim, self._distance, self._analyzer, self._metadata_fields)
        self._namespace.create_collection(self._collection.name, made)
        self._is_created = True


def _document(source: Mapping[str, Any]) -> Document:
    return Document(id=source["key"], page_content=source["text"], metadata=source.get("metadata") or {})
