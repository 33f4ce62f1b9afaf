# Made from _async by unasync.py.
from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from .._error import ServiceError
from .._options import Call, given, part, random_key
from .._types import CollectionInfo, Consistency, Document, DocumentPage, Json, ScanPlan, WriteReply
from .transport import Transport


class CollectionClient:
    """One collection of a namespace, by its name or an alias."""

    def __init__(self, transport: Transport, namespace_path: str, name: str) -> None:
        self.name = name
        self._transport = transport
        self._path = f"{namespace_path}/collections/{part(name)}"

    def info(self) -> CollectionInfo:
        reply: CollectionInfo = self._transport.call(Call("GET", self._path, "read", True))
        return reply

    def drop(self) -> None:
        self._transport.call(Call("DELETE", self._path, "write", False))

    def add_fields(self, fields: Sequence[Json], *, expected_schema_version: int | None = None) -> dict[str, Any]:
        body = {"fields": fields, "expected_schema_version": expected_schema_version}
        reply: dict[str, Any] = self._transport.call(
            Call("POST", f"{self._path}/fields", "write", False, body=body)
        )
        return reply

    def versions(self) -> list[dict[str, Any]]:
        reply = self._transport.call(Call("GET", f"{self._path}/versions", "read", True))
        versions: list[dict[str, Any]] = reply["versions"]
        return versions

    def set_hot(self, enabled: bool) -> dict[str, Any]:
        call = Call("PUT", f"{self._path}/hot", "write", True, body={"enabled": enabled})
        hot: dict[str, Any] = (self._transport.call(call))["hot"]
        return hot

    def warm(self) -> None:
        self._read("/warm", {})

    def scan(self) -> ScanPlan:
        plan: ScanPlan = self._read("/scan", {})
        return plan

    def write(self, ops: Iterable[Json], *, idempotency_key: str | None = None) -> WriteReply:
        """Writes a batch of documents, all or none; durable when it returns."""
        call = Call(
            "POST",
            f"{self._path}/documents",
            "write",
            True,
            body={"ops": list(ops)},
            headers={"idempotency-key": idempotency_key or random_key()},
        )
        reply: WriteReply = self._transport.call(call)
        return reply

    def get(self, id: int, *, consistency: Consistency | None = None) -> Document | None:
        """One document; None when there is none with this id."""
        path = f"{self._path}/documents/{part(id)}"
        try:
            document: Document = self._transport.call(
                Call("GET", path, "read", True, query=given(consistency=consistency))
            )
            return document
        except ServiceError as error:
            if error.reason != "not_found":
                raise
        # The collection itself may be what is missing.
        self.info()
        return None

    def get_many(self, ids: Iterable[int], *, consistency: Consistency | None = None) -> list[Document | None]:
        """Documents in the order of the ids; None where there is none."""
        reply = self._read("/documents/get", {"ids": list(ids), **given(consistency=consistency)})
        return [document if document.pop("found") else None for document in reply["documents"]]

    def count(self, filter: Json | None = None, *, consistency: Consistency | None = None) -> int:
        reply = self._read("/documents/count", given(filter=filter, consistency=consistency))
        count: int = reply["count"]
        return count

    def scroll(
        self,
        *,
        filter: Json | None = None,
        page_size: int | None = None,
        cursor: str | None = None,
        consistency: Consistency | None = None,
    ) -> Generator[Document, None, None]:
        """Documents by id, page by page, all of them as they were when the scroll began."""
        pages = self.scroll_pages(filter=filter, page_size=page_size, cursor=cursor, consistency=consistency)
        for page in pages:
            for document in page["documents"]:
                yield document

    def scroll_pages(
        self,
        *,
        filter: Json | None = None,
        page_size: int | None = None,
        cursor: str | None = None,
        consistency: Consistency | None = None,
    ) -> Generator[DocumentPage, None, None]:
        while True:
            body = {"cursor": cursor, **given(filter=filter, limit=page_size, consistency=consistency)}
            page: DocumentPage = self._read("/documents/scroll", body)
            yield page
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def delete_by_filter(self, filter: Json, *, max_docs: int | None = None) -> int:
        """Deletes what matches; returns how many documents there were. Not repeated when its outcome is unknown."""
        return self._filter_write("/documents/delete_by_filter", {"filter": filter}, max_docs)

    def patch_by_filter(self, filter: Json, patch: Json, *, max_docs: int | None = None) -> int:
        """Patches what matches as the `patch` operation does; returns how many documents there were."""
        return self._filter_write("/documents/patch_by_filter", {"filter": filter, "patch": patch}, max_docs)

    def _filter_write(self, route: str, body: Json, max_docs: int | None) -> int:
        affected: int = 0
        cursor: str | None = None
        while True:
            sent = {**body, "cursor": cursor, **given(max_docs=max_docs)}
            reply = self._transport.call(Call("POST", self._path + route, "write", False, body=sent))
            affected += int(reply["affected"])
            cursor = reply["next_cursor"]
            if cursor is None:
                return affected

    def _read(self, route: str, body: Json) -> Any:
        return self._transport.call(Call("POST", self._path + route, "read", True, body=body))
