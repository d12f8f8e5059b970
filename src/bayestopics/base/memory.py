"""The largest amount of memory that this process has used."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_mb() -> float:
    """Peak memory of this process alone, in MB. On Linux it is VmHWM, because ru_maxrss of a child process starts at
    the memory of its parent."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1024.0**2 if sys.platform == "darwin" else 1024.0)
