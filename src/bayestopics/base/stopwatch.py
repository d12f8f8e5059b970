"""Wall and CPU seconds, peak memory, and the machine they were measured on."""

from __future__ import annotations

import platform
import resource
import sys
import time
from pathlib import Path
from typing import Any

PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


class Stopwatch:
    """Wall and CPU seconds since it was made, of this process and of its child processes that have ended.

    The peak memory is that of the largest of these processes.
    """

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), cpu_seconds()

    def seconds(self) -> dict[str, float]:
        return {"wall_seconds": time.perf_counter() - self.wall, "cpu_seconds": cpu_seconds() - self.cpu}

    def volatile(self, **more: Any) -> dict[str, Any]:
        peak = max(resource.getrusage(who).ru_maxrss for who in PROCESSES)
        return {
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **self.seconds(),
            "peak_memory_mb": peak / (1024.0 if sys.platform != "darwin" else 1024.0**2),
            "cpu": cpu_model(),
            "platform": platform.platform(),
            **more,
        }


def cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in PROCESSES]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
