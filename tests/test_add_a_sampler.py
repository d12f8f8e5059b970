"""A new sampler is one file and one line: commands, benchmarks and exactness tests take it as it is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from adding import Copy
from bayestopics.corpus import write_corpus
from bayestopics.corpus.synthetic import simulate_lda

NAME = "reversed-site"
LINE = f'Sampler("{NAME}", "bayestopics.lda.reversed_site"),'
FILE = '''"""Single-site collapsed Gibbs, the last token first."""

from __future__ import annotations

import math

import numpy as np

from bayestopics.lda.state import State, random_start
from bayestopics.lda.transition import Info

init = random_start


def sweep(state: State, rng: np.random.Generator) -> Info:
    return Info(_visit(state, rng.random(len(state.terms)).tolist(), None))


def transition_density(state: State, target: np.ndarray) -> float:
    return _visit(state.copy(), [0.0] * len(state.terms), state.target(target).tolist())


def _visit(state: State, uniforms: list[float], target: list[int] | None) -> float:
    topics, total_eta, log_g = range(state.topics), len(state.term_topic) * state.eta, 0.0
    for i in reversed(range(len(state.terms))):
        counts = (state.document_topic[state.documents[i]], state.term_topic[state.terms[i]], state.topic_total)
        for row in counts:
            row[state.assignments[i]] -= 1
        of_document, of_term, totals = (row.tolist() for row in counts)
        alpha = state.alpha.tolist()
        weights = [(of_document[t] + alpha[t]) * (of_term[t] + state.eta) / (totals[t] + total_eta) for t in topics]
        left = uniforms[i] * math.fsum(weights)
        new = 0
        while new < state.topics - 1 and left >= weights[new]:
            left -= weights[new]
            new += 1
        new = new if target is None else target[i]
        log_g += math.log(weights[new] / math.fsum(weights))
        state.assignments[i] = new
        for row in counts:
            row[new] += 1
    return log_g
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    made = Copy(tmp_path_factory.mktemp("sampler"))
    made.add_file("lda/reversed_site.py", FILE)
    made.add_line("lda/__init__.py", 'Sampler("augmented"', LINE)
    return made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "small.ldac"
    write_corpus(simulate_lda(12, 12, 6, 2, 0.3, 0.5, np.random.default_rng(1)).corpus, path)
    return path


def test_commands_take_it(copy: Copy, corpus: Path) -> None:
    fit = copy.command("fit", corpus, "--topics", 2, "--sweeps", 5, "--burn-in", 0, "--sampler", NAME)
    assert len(fit["log_joint"]) > 0
    hyper = copy.command("hyper", corpus, "--topics", 2, "--sweeps", 100, "--chains", 1, "--sampler", NAME)
    assert hyper["alpha"] > 0
    walk = ["--method", "pmmh", "--min", 1, "--max", 3, "--start", 2, "--inner", 2, "--iterations", 20, "--burn-in", 0]
    topics = copy.command("topics", corpus, *walk, "--workers", 1, "--sampler", NAME)
    assert sum(topics["posterior"].values()) == pytest.approx(1)
    assert copy.command("score", corpus, "--topics", 2, "--sweeps", 5, "--burn-in", 1, "--sampler", NAME)


def test_benchmarks_list_it(copy: Copy) -> None:
    assert NAME in copy.python("-c", "from bayestopics.bench.programs import PROGRAMS; print(*PROGRAMS)").split()


def test_exactness_tests_find_it_exact(copy: Copy) -> None:
    said = copy.tests("tests/exact/test_samplers.py", NAME)
    assert int(re.findall(r"(\d+) passed", said)[0]) >= 40, said
