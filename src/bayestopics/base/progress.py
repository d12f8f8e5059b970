"""Shows the progress of computations: a bar on a terminal, otherwise a line on standard error every half minute.

Computations may contain others. A line reports all that are running, the outermost first. A worker process prints
nothing: the process that started it counts for it (`telling`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

EVERY_SECONDS = 30.0

_under_way: list[Progress] = []
_last_line = 0.0
_tell: Callable[[int], object] | None = None
_silent = False


class Progress:
    """Counts how many of `total` units are done, within a `with` block."""

    def __init__(self, description: str, total: int, unit: str, done: int = 0) -> None:
        self.description, self.total, self.unit, self.done = description, total, unit, done
        self._bar: Any = None

    def __enter__(self) -> Progress:
        global _last_line
        self._start = time.monotonic()
        if not _under_way:
            _last_line = self._start
        nested = bool(_under_way)
        _under_way.append(self)  # first, so that `end` closes it after an interruption
        if not _silent and sys.stderr.isatty():
            self._bar = tqdm(
                desc=self.description, total=self.total, initial=self.done, unit=self.unit, leave=not nested
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self in _under_way:  # `end` has not removed it yet
            _under_way.remove(self)
        if self._bar is not None:
            self._bar.close()

    def update(self, more: int = 1) -> None:
        self.done += more
        self.total = max(self.total, self.done)  # the total may have been a guess
        if self._bar is not None:
            self._bar.total = self.total
            self._bar.update(more)
        else:
            tick()

    def reach(self, done: int) -> None:
        self.update(done - self.done)

    def __str__(self) -> str:
        return f"{self.description}: {self.done:,} of {self.total:,} {_plural(self.unit, self.total)}"


def tick() -> None:
    """Print the progress of everything, unless it was printed recently. Code that waits for others calls it
    regularly."""
    global _last_line
    now = time.monotonic()
    if _silent or not _under_way or now - _last_line < EVERY_SECONDS or sys.stderr.isatty():
        return
    _last_line = now
    minutes, seconds = divmod(round(now - _under_way[0]._start), 60)
    line = "; ".join(map(str, _under_way))
    print(f"bayestopics: {line} ({minutes}:{seconds:02} minutes)", file=sys.stderr, flush=True)


def say(line: str) -> None:
    """Print a line on standard error, above the bars if there are any."""
    if not _silent:
        tqdm.write(f"bayestopics: {line}", file=sys.stderr)


def end() -> None:
    """End all progress after an error, so that the next message does not appear on the line of a bar."""
    while _under_way:
        _under_way[-1].__exit__()


def counted(
    items: Iterable[Item], description: str, unit: str = "sweep", total: int | None = None, done: int = 0
) -> Iterator[Item]:
    """Yield the items and count them. `done` of `total` items came before; without `total`, these are all."""
    if total is None:
        items = list(items) if not isinstance(items, range | list | tuple) else items
        total = len(items)
    with Progress(description, total, unit, done) as progress:
        for item in items:
            yield item
            progress.update()


def counted_sweeps(numbers: range, description: str, done: int = 0) -> Iterator[int]:
    """Yield the numbers of the sweeps after the first `done`, and count them; within `telling`, report each instead."""
    if _tell is None:
        yield from counted(numbers[done:], description, total=len(numbers), done=done)
        return
    _tell(done)
    for number in numbers[done:]:
        yield number
        _tell(1)


@contextmanager
def telling(tell: Callable[[int], object]) -> Iterator[None]:
    """Within this block, each sweep of `counted_sweeps` calls tell(1) and there is no bar of its own."""
    global _tell
    before, _tell = _tell, tell
    try:
        yield
    finally:
        _tell = before


@contextmanager
def totalling(tell: Callable[[int], object]) -> Iterator[None]:
    """Within this block, each sweep of `counted_sweeps` calls `tell` with the number of sweeps so far."""
    done = 0

    def more(sweeps: int) -> None:
        nonlocal done
        done += sweeps
        tell(done)

    with telling(more):
        yield


def be_silent() -> None:
    """Print no progress, for a worker process."""
    global _silent
    _silent = True


def _plural(unit: str, count: int) -> str:
    """1 sweep, 2 sweeps, 2 T."""
    return unit if count == 1 or unit.isupper() else f"{unit}s"
