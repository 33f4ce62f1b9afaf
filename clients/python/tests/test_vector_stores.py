from __future__ import annotations

import pytest
from conftest import Server
from native_engine import Client, NamespaceClient

TEXTS = ["the tide tables", "a book of moons", "moons and tides"]
TOPICS = ["sea", "sky", "sea"]


def letters(text: str) -> list[float]:
    """A vector that counts letters: enough to tell these texts apart."""
    return [float(text.lower().count(chr(ord("a") + at))) for at in range(26)]


def test_langchain(client: Client, ns: NamespaceClient) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import Embeddings
    from native_engine.langchain import NativeEngineVectorStore

    class Letters(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [letters(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return letters(text)

    settings = {"client": client, "namespace": ns.name, "collection": "c", "metadata_fields": {"topic": "keyword"}}
    store = NativeEngineVectorStore.from_texts(TEXTS, Letters(), [{"topic": topic} for topic in TOPICS], **settings)
    found = store.similarity_search("moons", k=1, filter={"topic": "sky"})
    assert [(each.page_content, each.metadata) for each in found] == [("a book of moons", {"topic": "sky"})]
    assert {each.page_content for each in store.similarity_search("tides", k=5, filter={"term": {"topic": "sea"}})} == {
        "the tide tables",
        "moons and tides",
    }
    ((_, score),) = store.similarity_search_with_relevance_scores("a book of moons", k=1)
    assert score == pytest.approx(1)
    hybrid = NativeEngineVectorStore(Letters(), hybrid=True, **settings)
    assert hybrid.similarity_search("tables", k=1)[0].page_content == "the tide tables"
    assert len(store.max_marginal_relevance_search("moons", k=2, fetch_k=3)) == 2
    assert store.as_retriever(search_kwargs={"k": 1}).invoke("a book of moons")[0].page_content == "a book of moons"
    (key,) = store.add_texts(["first"], ids=["doc-1"])
    store.add_texts(["second"], ids=[key])
    assert [each.page_content for each in store.get_by_ids([key, "none"])] == ["second"]
    store.delete([key])
    store.delete(filter={"topic": "sea"})
    assert [each.page_content for each in store.similarity_search("x", k=9)] == ["a book of moons"]


def test_llama_index(client: Client, ns: NamespaceClient) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores import ExactMatchFilter, FilterOperator, MetadataFilter, MetadataFilters
    from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode
    from native_engine.llama_index import NativeEngineVectorStore

    class Letters(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return letters(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return letters(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return letters(text)

    store = NativeEngineVectorStore(
        client=client, namespace=ns.name, collection="c", metadata_fields={"topic": "keyword", "at": "i64"}
    )
    nodes = [
        TextNode(text=text, id_=f"n{at}", metadata={"topic": TOPICS[at], "at": at}) for at, text in enumerate(TEXTS)
    ]
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex(nodes, storage_context=context, embed_model=Letters())
    filters = MetadataFilters(filters=[ExactMatchFilter(key="topic", value="sea")])
    found = index.as_retriever(similarity_top_k=1, filters=filters).retrieve("moons and")
    assert [(each.node.node_id, each.node.metadata["topic"]) for each in found] == [("n2", "sea")]
    text = VectorStoreQuery(query_str="tables", mode=VectorStoreQueryMode.TEXT_SEARCH, similarity_top_k=2)
    assert store.query(text).ids == ["n0"]
    hybrid = VectorStoreQuery(
        query_str="book", query_embedding=letters("book"), mode=VectorStoreQueryMode.HYBRID, similarity_top_k=1
    )
    assert store.query(hybrid).ids == ["n1"]
    late = MetadataFilters(filters=[MetadataFilter(key="at", value=1, operator=FilterOperator.GTE)])
    assert [node.node_id for node in store.get_nodes(filters=late)] == sorted(
        ["n1", "n2"], key=[node.node_id for node in store.get_nodes()].index
    )
    store.delete_nodes(["n1"])
    assert [node.get_content() for node in store.get_nodes(["n1", "n0"])] == ["the tide tables"]
    store.clear()


def test_readme(server: Server) -> None:
    """What the readme shows works as it stands."""
    import re
    import subprocess
    import sys
    from pathlib import Path

    readme = (Path(__file__).parents[1] / "README.md").read_text().replace("http://127.0.0.1:8080", server.url)
    programs = re.findall(r"^```python\n(.*?)^```", readme, re.M | re.S)
    outputs = [subprocess.run([sys.executable, "-c", each], capture_output=True, text=True) for each in programs]
    assert [each.stderr for each in outputs] == [""] * len(programs)
    assert outputs[0].stdout == "0 0 {'book': 7}\n[2, 1]\n[{'n': 1}]\nnot_found 404\n"
    assert outputs[-1].stdout == "a book of moons\n"
