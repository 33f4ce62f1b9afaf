from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def merge(iterators: Sequence[AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
    """What several iterators give, in the order in which it comes. Each is asked again only after its last was taken."""

    async def ask(iterator: AsyncGenerator[T, None]) -> T:
        return await iterator.__anext__()

    waiting: dict[asyncio.Task[T], AsyncGenerator[T, None]] = {}
    for iterator in iterators:
        waiting[asyncio.ensure_future(ask(iterator))] = iterator
    try:
        while waiting:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                iterator = waiting.pop(task)
                try:
                    value = task.result()
                except StopAsyncIteration:
                    continue
                waiting[asyncio.ensure_future(ask(iterator))] = iterator
                yield value
    finally:
        tasks: list[asyncio.Task[Any]] = list(waiting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for iterator in iterators:
            await iterator.aclose()
