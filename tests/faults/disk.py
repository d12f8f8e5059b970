"""Full and read-only disks under the cache, the results and `--out`: `python tests/faults/disk.py`.

It mounts small file systems in memory, which needs root; otherwise it says so and ends. The result of a command must be
printed whatever happens to its record, the message is one line with a path, and a cache that cannot be written costs no
more than the checkpoints.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

FIT = ["fit", "--topics", "3", "--sweeps", "300", "--burn-in", "50", "--chains", "1", "--workers", "1", "--json"]


@contextmanager
def disk(folder: Path, state: str) -> Iterator[Path]:
    """A file system of half a megabyte: full, or read-only."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)], check=True)
    try:
        if state == "full":
            try:
                with open(folder / "filler", "wb") as file:
                    while True:
                        file.write(bytes(4096))
                        file.flush()
            except OSError:
                pass
        else:
            subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def run(words: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    from killing import PROGRAM, own_cache

    environment = {**own_cache(folder / "cache"), **variables}
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=600)


def main() -> int:
    import numpy as np

    from bayestopics.corpus import write_corpus
    from bayestopics.corpus.synthetic import simulate_lda

    if os.geteuid() != 0:
        print("disks: not tried, because only root can mount a file system")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = simulate_lda(40, 40, 60, 3, alpha=0.2, eta=0.2, rng=np.random.default_rng(4)).corpus
        write_corpus(corpus, folder / "x.ldac")
        words = [*FIT, str(folder / "x.ldac")]
        whole = json.loads(run(words, folder).stdout)["log_joint"]
        for state in ("full", "read-only"):
            with disk(folder / f"out-{state}", state) as there:
                done = run([*words, "--out", str(there / "record")], folder)
                assert done.returncode == 2, done.stderr
                assert str(there) in done.stderr, done.stderr
                assert done.stderr.count("\n") == 1, done.stderr
                assert not done.stdout or json.loads(done.stdout)["log_joint"] == whole
                printed = "the result was printed" if done.stdout else "said before the work began"
                print(f"--out on a {state} disk: {printed}: {done.stderr.strip()}", flush=True)
            with disk(folder / f"cache-{state}", state) as there:
                variables = {"BAYESTOPICS_CHECKPOINT_SECONDS": "0.01", "BAYESTOPICS_CACHE": str(there)}
                kernels = {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", str(folder / "kernels"))}
                done = run(words, folder, **variables, **kernels)
                assert done.returncode == 0, done.stderr
                assert json.loads(done.stdout)["log_joint"] == whole
                assert str(there) in done.stderr, done.stderr
                print(f"cache on a {state} disk: {done.stderr.strip()}", flush=True)
            with disk(folder / f"results-{state}", state) as there:
                (folder / "here").mkdir(exist_ok=True)
                (folder / "here" / "results").symlink_to(there)
                done = run([*words, "--track"], folder / "here", BAYESTOPICS_CACHE=str(folder / "cache"))
                (folder / "here" / "results").unlink()
                assert done.returncode == 2, done.stderr
                assert json.loads(done.stdout)["log_joint"] == whole
                assert done.stderr.count("\n") == 1, done.stderr
                print(f"results on a {state} disk, with --track: {done.stderr.strip()}", flush=True)
    print("disks: no result was lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
