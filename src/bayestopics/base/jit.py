"""Compilation by numba, with a cache on disk in a folder that is named after the kernels' sources.

numba's cache does not notice when a kernel changes that another file inlines; so each version of the sources has its
own folder. All copies of the same sources, such as two clones, share it. `BAYESTOPICS_CACHE` moves the cache (default:
~/.cache/bayestopics).
"""

from __future__ import annotations

import sys
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


def _compiled(function: Kernel, **how: Any) -> Kernel:
    """Compiled when it is called first. If the machine code cannot be kept, a line says so, and nothing is lost."""
    made = numba.njit(cache=True, error_model="numpy", **how)(function)
    save = made._cache.save_overload

    def try_to_save(signature: Any, data: Any) -> None:
        try:
            save(signature, data)
        except OSError as error:
            if not _told:
                _told.append(error)
                said = f"{CACHE}: compiled code cannot be kept there ({error.strerror or error})"
                print(f"bayestopics: {said}; every start will take longer", file=sys.stderr, flush=True)

    made._cache.save_overload = try_to_save
    return cast(Kernel, made)


_told: list[OSError] = []


def kernel(function: Kernel) -> Kernel:
    """Compile without Python objects; keep the machine code for the next process."""
    return _compiled(function)


def sum_kernel(function: Kernel) -> Kernel:
    """Like `kernel`, but sums may be reordered, so that the CPU adds several terms at once."""
    return _compiled(function, fastmath={"reassoc", "contract"})


def free_kernel(function: Kernel) -> Kernel:
    """Like `kernel`, but other Python threads run meanwhile, and may run the same kernel."""
    return _compiled(function, nogil=True)


def parallel_kernel(function: Kernel) -> Kernel:
    """Like `kernel`, but several threads run the `prange` loops."""
    return _compiled(function, parallel=True)
