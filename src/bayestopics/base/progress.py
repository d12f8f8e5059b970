"""Sweeps with a bar of their own; or counted for somebody else, who shows how far several chains are together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

_tell: Callable[[int], object] | None = None


@contextmanager
def telling(tell: Callable[[int], object]) -> Iterator[None]:
    """Within this block there are no bars: each sweep calls tell(1)."""
    global _tell
    before, _tell = _tell, tell
    try:
        yield
    finally:
        _tell = before


def counted(numbers: range, description: str) -> Iterator[int]:
    if _tell is None:
        yield from tqdm(numbers, desc=description, unit="sweep", disable=None, leave=False)
        return
    for number in numbers:
        yield number
        _tell(1)
