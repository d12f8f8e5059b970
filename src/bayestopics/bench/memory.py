"""The peak resident memory of a process that loads a corpus and runs one sweep.

Run as a module, this file is that process and prints its peak in megabytes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import numpy as np
import pandas as pd

from bayestopics.base.memory import peak_mb
from bayestopics.bench.corpora import load
from bayestopics.bench.programs import PRIOR
from bayestopics.lda import sampler
from bayestopics.runs.chain import compile_sampler

GOAL_MB = 1000.0
COLUMNS = ["corpus", "topics", "program", "peak_mb", "loaded_mb"]


def measure(corpus: str, topics: int, samplers: Iterable[str]) -> pd.DataFrame:
    """One row per sampler; `loaded_mb` is the peak before the chain starts."""
    rows = []
    for name in samplers:
        compile_sampler(name)  # so that the compiler's memory is not counted
        command = [sys.executable, "-m", "bayestopics.bench.memory", corpus, str(topics), name]
        loaded, peak = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        rows.append((corpus, topics, name, float(peak), float(loaded)))
    return pd.DataFrame(rows, columns=COLUMNS)


def one_sweep(corpus_name: str, topics: int, name: str) -> tuple[float, float]:
    compile_sampler(name)
    corpus, rng, module = load(corpus_name), np.random.default_rng(0), sampler(name)
    loaded = peak_mb()
    state = module.init(corpus, topics, PRIOR, rng)
    module.sweep(state, rng)
    return loaded, peak_mb()


if __name__ == "__main__":
    print(*one_sweep(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
