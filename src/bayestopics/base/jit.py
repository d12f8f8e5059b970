"""Compilation by numba, with a cache on disk in a folder that is named after the kernels' sources.

numba's cache does not notice when a kernel changes that another file inlines; so each version of the sources has its
own folder. All copies of the same sources, such as two clones, share it. `BAYESTOPICS_CACHE` moves the cache (default:
~/.cache/bayestopics).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import UserProvidedCacheLocator

from bayestopics.base.code import CACHE, kernel_hash

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

PACKAGE = Path(__file__).parents[1]


class OneForAllCopies(UserProvidedCacheLocator):
    """numba's own place for a kernel depends on the path of its file; this one on its path within the package."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        folder = Path(py_file).absolute().parent
        if folder.is_relative_to(PACKAGE):
            return folder.relative_to(PACKAGE).as_posix()
        return cast(str, super().get_suitable_cache_subpath(py_file))


OTHERS = (
    "InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,ZipCacheLocator"  # for functions that have no file
)
numba.config.CACHE_DIR = str(CACHE / f"kernels-{kernel_hash()}")  # type: ignore[attr-defined]
numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.{OneForAllCopies.__name__},{OTHERS}"  # type: ignore[attr-defined]


def kernel(function: Kernel) -> Kernel:
    """Compile without Python objects; keep the machine code for the next process."""
    return cast(Kernel, numba.njit(cache=True, error_model="numpy")(function))


def sum_kernel(function: Kernel) -> Kernel:
    """Like `kernel`, but sums may be reordered, so that the CPU adds several terms at once."""
    return cast(Kernel, numba.njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})(function))


def free_kernel(function: Kernel) -> Kernel:
    """Like `kernel`, but other Python threads run meanwhile, and may run the same kernel."""
    return cast(Kernel, numba.njit(cache=True, error_model="numpy", nogil=True)(function))


def parallel_kernel(function: Kernel) -> Kernel:
    """Like `kernel`, but several threads run the `prange` loops."""
    return cast(Kernel, numba.njit(cache=True, error_model="numpy", parallel=True)(function))
