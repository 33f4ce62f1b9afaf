from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypedDict


class TokenEntry(TypedDict):
    """The last offset of a partition that a reader must see."""

    stream: int
    partition: int
    offset: int


ConsistencyToken = Sequence[TokenEntry]

#: Entries that a session remembers, as many as the service takes in one token.
ENTRIES_MAX = 10_000
#: What of it is sent: servers and proxies refuse requests whose headers are larger than about 16 KiB.
HEADER_BYTES_MAX = 7 * 1024


class Session:
    """What a client has written. Reads carry it, so that they see those writes whichever process serves them."""

    def __init__(self, token: ConsistencyToken = ()) -> None:
        #: By partition, the one written longest ago first.
        self._entries: dict[tuple[int, int], TokenEntry] = {}
        self._header: str | None = None
        self.merge(token)

    @property
    def token(self) -> list[TokenEntry]:
        """Everything the session has written, to be given to another session."""
        return list(self._entries.values())

    def merge(self, token: Iterable[TokenEntry]) -> None:
        """Adds what a write's token or another session names; the later offset of a partition counts."""
        for entry in token:
            key = (entry["stream"], entry["partition"])
            known = self._entries.get(key)
            if known is not None and known["offset"] >= entry["offset"]:
                continue
            self._entries.pop(key, None)
            self._entries[key] = {"stream": key[0], "partition": key[1], "offset": entry["offset"]}
            self._header = None
        while len(self._entries) > ENTRIES_MAX:
            del self._entries[next(iter(self._entries))]

    @property
    def header(self) -> str | None:
        """The header's text: all of the token, or its newest entries where all of it is too long."""
        if not self._entries:
            return None
        if self._header is None:
            self._header = _format(self.token)
        return self._header


def _format(entries: Sequence[TokenEntry]) -> str:
    texts: list[str] = []
    length = 2
    for entry in reversed(entries):
        text = json.dumps(entry, separators=(",", ":"))
        length += len(text) + 1
        if length > HEADER_BYTES_MAX:
            break
        texts.append(text)
    return f"[{','.join(reversed(texts))}]"


def is_token(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(entry, dict) and {"stream", "partition", "offset"} <= entry.keys() for entry in value
    )
