from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
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
from .collection import AsyncCollectionClient
from .stream import AsyncStreamClient
from .transport import AsyncTransport

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class AsyncNamespaceClient:
    """One namespace: its streams, links and collections, and questions over them."""

    def __init__(self, transport: AsyncTransport, name: str) -> None:
        self.name = name
        self._transport = transport
        self._path = f"/v1/namespaces/{part(name)}"

    async def get(self) -> NamespaceInfo:
        info: NamespaceInfo = await self._get("")
        return info

    async def delete(self) -> None:
        """Only an empty namespace can be deleted."""
        await self._delete("")

    async def quota(self) -> QuotaState:
        quota: QuotaState = await self._get("/quota")
        return quota

    async def set_quota(
        self, *, max_bytes: int | None = None, max_requests_per_second: int | None = None
    ) -> QuotaState:
        """Replaces the quota; without arguments it has no bounds. For admins of the instance."""
        body = {"max_bytes": max_bytes, "max_requests_per_second": max_requests_per_second}
        call = Call("PUT", f"{self._path}/quota", "write", True, body=body)
        quota: QuotaState = await self._transport.call(call)
        return quota

    def stream(self, name: str) -> AsyncStreamClient:
        return AsyncStreamClient(self._transport, self._path, name)

    async def streams(self) -> list[StreamListItem]:
        streams: list[StreamListItem] = (await self._get("/streams"))["streams"]
        return streams

    async def create_stream(
        self, name: str, *, partitions: int | None = None, retention: Retention | None = None
    ) -> dict[str, int]:
        body = {"name": name, **given(partitions=partitions, retention=retention)}
        reply: dict[str, int] = await self._post("/streams", body, "write", False)
        return reply

    async def links(self) -> list[LinkListItem]:
        links: list[LinkListItem] = (await self._get("/links"))["links"]
        return links

    async def link(self, name: str) -> LinkDetail:
        link: LinkDetail = await self._get(f"/links/{part(name)}")
        return link

    async def create_link(
        self, name: str, source: str, *, target: Json | None = None, options: Json | None = None
    ) -> dict[str, int]:
        body = {"name": name, "source": source, **given(target=target, options=options)}
        reply: dict[str, int] = await self._post("/links", body, "write", False)
        return reply

    async def delete_link(self, name: str) -> None:
        await self._delete(f"/links/{part(name)}")

    def collection(self, name: str) -> AsyncCollectionClient:
        return AsyncCollectionClient(self._transport, self._path, name)

    async def create_collection(self, name: str, schema: Json) -> CollectionInfo:
        """The same name and schema again are the same collection, so that it is safe to repeat."""
        info: CollectionInfo = await self._post("/collections", {"name": name, "schema": schema}, "write", True)
        return info

    async def collections(self, *, page_size: int | None = None) -> AsyncGenerator[CollectionInfo, None]:
        token: str | None = None
        while True:
            query = given(page_size=page_size, page_token=token)
            page = await self._transport.call(Call("GET", f"{self._path}/collections", "read", True, query=query))
            for info in page["collections"]:
                yield info
            token = page["next_page_token"] or None
            if token is None:
                return

    async def aliases(self) -> list[Alias]:
        aliases: list[Alias] = (await self._get("/aliases"))["aliases"]
        return aliases

    async def update_aliases(self, actions: Sequence[Json]) -> list[Alias]:
        reply = await self._post("/aliases", {"actions": actions}, "write", False)
        aliases: list[Alias] = reply["aliases"]
        return aliases

    async def query(self, query: Json, *, consistency: Consistency | None = None) -> QueryReply:
        reply: QueryReply = await self._post("/query", {**query, **given(consistency=consistency)}, "read", True)
        return reply

    async def queries(self, queries: Sequence[Json]) -> list[QueryReply]:
        """Several queries in one request, answered in their order."""
        results: list[QueryReply] = (await self._post("/query", {"queries": queries}, "read", True))["results"]
        return results

    async def sql(self, query: str, params: Sequence[Any] | None = None) -> SqlReply:
        reply: SqlReply = await self._post("/sql", {"query": query, **given(params=params)}, "read", True)
        return reply

    async def sql_arrow(self, query: str, params: Sequence[Any] | None = None) -> pyarrow.Table:
        """The result as an Arrow table, over Flight SQL. Needs the extra `arrow`."""
        transport = self._transport
        target = _flight.Target(transport.url, await transport.credential(), transport.verify, self.name)
        return await asyncio.to_thread(_flight.fetch, target, query, params)

    async def sql_pandas(self, query: str, params: Sequence[Any] | None = None) -> pandas.DataFrame:
        """The result as a data frame of pandas. Needs the extra `pandas`."""
        return (await self.sql_arrow(query, params)).to_pandas()

    async def sql_polars(self, query: str, params: Sequence[Any] | None = None) -> polars.DataFrame:
        """The result as a data frame of polars. Needs the extra `polars`."""
        import polars

        frame = polars.from_arrow(await self.sql_arrow(query, params))
        assert isinstance(frame, polars.DataFrame)
        return frame

    async def _get(self, route: str) -> Any:
        return await self._transport.call(Call("GET", self._path + route, "read", True))

    async def _post(self, route: str, body: Any, kind: Any, repeatable: bool) -> Any:
        return await self._transport.call(Call("POST", self._path + route, kind, repeatable, body=body))

    async def _delete(self, route: str) -> None:
        await self._transport.call(Call("DELETE", self._path + route, "write", False))
