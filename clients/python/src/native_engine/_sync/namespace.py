# Made from _async by unasync.py.
from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from .. import _flight
from .._options import Call, given, part
from .._types import (
    Alias,
    CollectionInfo,
    Consistency,
    Json,
    LinkDetail,
    LinkListItem,
    NamespaceInfo,
    QueryReply,
    QuotaState,
    Retention,
    SqlReply,
    StreamListItem,
)
from .collection import CollectionClient
from .stream import StreamClient
from .transport import Transport

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class NamespaceClient:
    """One namespace: its streams, links and collections, and questions over them."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport = transport
        self._path = f"/v1/namespaces/{part(name)}"

    def get(self) -> NamespaceInfo:
        info: NamespaceInfo = self._get("")
        return info

    def delete(self) -> None:
        """Only an empty namespace can be deleted."""
        self._delete("")

    def quota(self) -> QuotaState:
        quota: QuotaState = self._get("/quota")
        return quota

    def set_quota(
        self, *, max_bytes: int | None = None, max_requests_per_second: int | None = None
    ) -> QuotaState:
        """Replaces the quota; without arguments it has no bounds. For admins of the instance."""
        body = {"max_bytes": max_bytes, "max_requests_per_second": max_requests_per_second}
        call = Call("PUT", f"{self._path}/quota", "write", True, body=body)
        quota: QuotaState = self._transport.call(call)
        return quota

    def stream(self, name: str) -> StreamClient:
        return StreamClient(self._transport, self._path, name)

    def streams(self) -> list[StreamListItem]:
        streams: list[StreamListItem] = (self._get("/streams"))["streams"]
        return streams

    def create_stream(
        self, name: str, *, partitions: int | None = None, retention: Retention | None = None
    ) -> dict[str, int]:
        body = {"name": name, **given(partitions=partitions, retention=retention)}
        reply: dict[str, int] = self._post("/streams", body, "write", False)
        return reply

    def links(self) -> list[LinkListItem]:
        links: list[LinkListItem] = (self._get("/links"))["links"]
        return links

    def link(self, name: str) -> LinkDetail:
        link: LinkDetail = self._get(f"/links/{part(name)}")
        return link

    def create_link(
        self, name: str, source: str, *, target: Json | None = None, options: Json | None = None
    ) -> dict[str, int]:
        body = {"name": name, "source": source, **given(target=target, options=options)}
        reply: dict[str, int] = self._post("/links", body, "write", False)
        return reply

    def delete_link(self, name: str) -> None:
        self._delete(f"/links/{part(name)}")

    def collection(self, name: str) -> CollectionClient:
        return CollectionClient(self._transport, self._path, name)

    def create_collection(self, name: str, schema: Json) -> CollectionInfo:
        """The same name and schema again are the same collection, so that it is safe to repeat."""
        info: CollectionInfo = self._post("/collections", {"name": name, "schema": schema}, "write", True)
        return info

    def collections(self, *, page_size: int | None = None) -> Generator[CollectionInfo, None, None]:
        token: str | None = None
        while True:
            query = given(page_size=page_size, page_token=token)
            page = self._transport.call(Call("GET", f"{self._path}/collections", "read", True, query=query))
            for info in page["collections"]:
                yield info
            token = page["next_page_token"] or None
            if token is None:
                return

    def aliases(self) -> list[Alias]:
        aliases: list[Alias] = (self._get("/aliases"))["aliases"]
        return aliases

    def update_aliases(self, actions: Sequence[Json]) -> list[Alias]:
        reply = self._post("/aliases", {"actions": actions}, "write", False)
        aliases: list[Alias] = reply["aliases"]
        return aliases

    def query(self, query: Json, *, consistency: Consistency | None = None) -> QueryReply:
        reply: QueryReply = self._post("/query", {**query, **given(consistency=consistency)}, "read", True)
        return reply

    def queries(self, queries: Sequence[Json]) -> list[QueryReply]:
        """Several queries in one request, answered in their order."""
        results: list[QueryReply] = (self._post("/query", {"queries": queries}, "read", True))["results"]
        return results

    def sql(self, query: str, params: Sequence[Any] | None = None) -> SqlReply:
        reply: SqlReply = self._post("/sql", {"query": query, **given(params=params)}, "read", True)
        return reply

    def sql_arrow(self, query: str, params: Sequence[Any] | None = None) -> pyarrow.Table:
        """The result as an Arrow table, over Flight SQL. Needs the extra `arrow`."""
        transport = self._transport
        target = _flight.Target(transport.url, transport.credential(), transport.verify, self.name)
        return _flight.fetch(target, query, params)

    def sql_pandas(self, query: str, params: Sequence[Any] | None = None) -> pandas.DataFrame:
        """The result as a data frame of pandas. Needs the extra `pandas`."""
        return (self.sql_arrow(query, params)).to_pandas()

    def sql_polars(self, query: str, params: Sequence[Any] | None = None) -> polars.DataFrame:
        """The result as a data frame of polars. Needs the extra `polars`."""
        import polars

        frame = polars.from_arrow(self.sql_arrow(query, params))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def _get(self, route: str) -> Any:
        return self._transport.call(Call("GET", self._path + route, "read", True))

    def _post(self, route: str, body: Any, kind: Any, repeatable: bool) -> Any:
        return self._transport.call(Call("POST", self._path + route, kind, repeatable, body=body))

    def _delete(self, route: str) -> None:
        self._transport.call(Call("DELETE", self._path + route, "write", False))
