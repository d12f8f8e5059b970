"""Damaged files by the ten thousand: `make test-faults`, or `python tests/faults/run.py -n 2 --cases 50000`.

Every case runs in a process with a limit of memory and of CPU time, so that a crash, a hang or a full memory is found
and counted like any other fault. `--case 17` runs one case here and shows what happens.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MOST_MEMORY = 2 * 2**30  # bytes of address space
MOST_SECONDS = 10  # of CPU time for a case
FOLDER = Path(__file__).parent


def work(start: int, stop: int, step: int) -> None:
    """A child: run these cases; a line before each says which, and a line after it how it ended."""
    sys.path.insert(0, str(FOLDER))
    import fuzzing

    readers = fuzzing.known(fuzzing.READERS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    for number in range(start, stop, step):
        print(f"begin\t{number}\t{readers[number % len(readers)].name}", flush=True)
        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime) + MOST_SECONDS + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        reader, end, said = fuzzing.run_case(readers, number)
        print(f"end\t{number}\t{reader.name}\t{end}\t{' '.join(said.split())[:300]}", flush=True)


def watch(start: int, stop: int, step: int) -> list[tuple[int, str, str, str]]:
    """The parent of a child: (case, reader, end, details) for each case; a child that died is replaced."""
    found: list[tuple[int, str, str, str]] = []
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
    while start < stop:
        command = [sys.executable, __file__, "--work", str(start), str(stop), str(step)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        under_way: tuple[int, str] | None = None
        assert child.stdout is not None
        for line in child.stdout:
            what, number, reader, *rest = line.rstrip("\n").split("\t")
            if what == "begin":
                under_way = int(number), reader
            elif what == "end":
                found.append((int(number), reader, rest[0], rest[1]))
                start, under_way = int(number) + step, None
                if rest[0] == "bug":
                    print(f"case {number} ({reader}): {rest[1]}", flush=True)
        _, errors = child.communicate()
        if under_way is not None:  # killed by a signal: a crash, or the limit of time
            said = f"the process died (code {child.returncode}) {' '.join(errors[-200:].split())}"
            print("case {} ({}): {}".format(*under_way, said), flush=True)
            found.append((*under_way, "bug", said))
            start = under_way[0] + step
        elif child.returncode:
            raise RuntimeError(errors)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=50_000, help="how many (default: 50000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default: 0)")
    parser.add_argument("-n", type=int, default=1, help="processes at a time")
    parser.add_argument("--case", type=int, help="run only this case")
    parser.add_argument("--work", type=int, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(*given.work)
        return 0
    if given.case is not None:
        given.first, given.cases = given.case, 1
    started, stop = time.monotonic(), given.first + given.cases
    with ThreadPoolExecutor(given.n) as threads:
        parts = list(threads.map(lambda one: watch(given.first + one, stop, given.n), range(given.n)))
    found = sorted(case for part in parts for case in part)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    table = Counter((reader, end) for _, reader, end, _ in found)
    for reader in dict.fromkeys(reader for _, reader, _, _ in found):
        print(f"{reader:28}", "  ".join(f"{end} {table[reader, end]:5}" for end in ("sound", "refused", "bug")))
    if given.case is not None:
        print(*found[0])
    ends = Counter(end for _, _, end, _ in found)
    seconds = f"{time.monotonic() - started:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU"
    print(f"{len(found)} cases: {ends['sound']} sound, {ends['refused']} refused, {ends['bug']} bugs ({seconds})")
    return 1 if ends["bug"] or len(found) != given.cases else 0


if __name__ == "__main__":
    sys.exit(main())
