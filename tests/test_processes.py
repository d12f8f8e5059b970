"""What a worker process is given. How it ends with its parent: tests/runs/test_fit.py."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
from tqdm.std import TqdmDefaultWriteLock

import oracle
from bayestopics.base.processes import pool
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus


@dataclass(frozen=True, eq=False)
class Job:
    corpus: Corpus


def look(job: Job, flag: bool, add: int) -> tuple[list[bool], bool, bool, int, int]:
    corpus = job.corpus
    writable = [array.flags.writeable for array in (corpus.documents, corpus.terms)]
    blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return writable, "document_lengths" in vars(corpus), blocked, numba.get_num_threads(), corpus.token_count + add


def test_a_worker_gets_what_is_shared_read_only_and_its_share_of_the_threads() -> None:
    corpus = oracle.random_corpus(np.random.default_rng(1), 40, 6, 8)
    assert corpus.document_lengths.sum() == 40  # cached now, and not sent
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pool(2, Job(corpus), True) as submit:
        seen = submit(look, 2).result()
    assert seen == ([False, False], False, True, max(1, numba.get_num_threads() // 2), 42)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show_progress() -> bool:
    """Whether progress makes a bar, and with it a semaphore, which outlives a process that ends at once."""
    sys.stderr = Terminal()
    for _ in counted(range(2), "in a worker"):
        pass
    return hasattr(TqdmDefaultWriteLock, "mp_lock") or sys.stderr.getvalue() != ""


SCRIPT = """
import bayestopics
print("once")
corpus = bayestopics.simulate(documents=6, length=5, terms=6, topics=2, seed=1)
print(bayestopics.fit(corpus, topics=2, sweeps=4, burn_in=1, chains=2, workers=2).log_joint.shape)
"""


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Guards workers that run the user's script again: tracebacks, and no result."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "once\n(2, 4)\n"), done.stderr


def test_a_worker_has_no_semaphores_to_leave_behind() -> None:
    with pool(1) as submit:
        assert not submit(show_progress).result()
