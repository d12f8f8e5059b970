"""Kernels in threads: a range of numbers is cut into pieces, and each thread takes the next piece that is left."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba

PIECES = 16  # for each thread, so that none waits long for the last


def in_threads(work: Callable[[int, int], object], count: int, at_once: bool = True) -> None:
    """Call work(start, end) for pieces that make up 0..count-1, in as many threads as numba's parallel kernels have.

    The kernels that it calls must release Python's lock (`base.jit.free_kernel`). What they compute must not depend on
    the pieces.
    """
    threads = min(numba.get_num_threads(), count) if at_once else 1
    if threads <= 1:
        work(0, count)
        return
    pieces = min(count, threads * PIECES)
    ends = [count * piece // pieces for piece in range(pieces + 1)]
    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(work, ends[:-1], ends[1:]))
