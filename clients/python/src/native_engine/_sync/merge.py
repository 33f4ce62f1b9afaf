from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Sequence
from typing import TypeVar, Union

T = TypeVar("T")


def merge(iterators: Sequence[Generator[T, None, None]]) -> Generator[T, None, None]:
    """What several iterators give, in the order in which it comes: a thread for each, which ends with its next value
    once nobody wants more."""
    given: queue.Queue[tuple[Union[T, None], Union[BaseException, None]]] = queue.Queue(maxsize=len(iterators))
    left = threading.Event()

    def hand_over(value: T | None, error: BaseException | None) -> None:
        while not left.is_set():
            try:
                given.put((value, error), timeout=0.1)
                return
            except queue.Full:
                continue

    def run(iterator: Generator[T, None, None]) -> None:
        try:
            for value in iterator:
                hand_over(value, None)
                if left.is_set():
                    return
            hand_over(None, StopIteration())
        except BaseException as error:
            hand_over(None, error)
        finally:
            iterator.close()

    for iterator in iterators:
        threading.Thread(target=run, args=(iterator,), daemon=True).start()
    running = len(iterators)
    try:
        while running > 0:
            value, error = given.get()
            if isinstance(error, StopIteration):
                running -= 1
            elif error is not None:
                raise error
            else:
                yield value  # type: ignore[misc]
    finally:
        left.set()
