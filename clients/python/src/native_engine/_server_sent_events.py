from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class ServerSentEvent:
    #: `message` where the server names none.
    event: str
    data: str


class EventParser:
    """Reads `text/event-stream`. A comment is given out as None, so that the reader hears that the connection lives."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent | None]:
        *blocks, self._rest = (self._rest + self._decoder.decode(chunk)).split("\n\n")
        for block in blocks:
            yield _parse(block)


def _parse(block: str) -> ServerSentEvent | None:
    event = "message"
    data: list[str] = []
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
    return ServerSentEvent(event, "\n".join(data)) if data else None
