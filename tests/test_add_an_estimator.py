"""A new estimator of the evidence is one file and one line: the command and the tests against enumeration take it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from adding import Copy
from bayestopics.corpus import write_corpus
from bayestopics.corpus.synthetic import simulate_lda

NAME = "prior-draws"
LINE = f'Estimator("{NAME}", "bayestopics.evidence.prior_draws", unbiased=True),'
FILE = '''"""The mean of p(w | z) over draws of z from the prior."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.tempered import draw_prior
from bayestopics.lda.density import log_likelihood
from bayestopics.lda.state import Prior


def repeat(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    logs = [log_likelihood(draw_prior(corpus, topics, prior, rng)) for _ in range(sweeps)]
    return float(logsumexp(logs) - np.log(sweeps))
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    made = Copy(tmp_path_factory.mktemp("estimator"))
    made.add_file("evidence/prior_draws.py", FILE)
    made.add_line("evidence/__init__.py", 'Estimator("harmonic-psi"', LINE)
    return made


def test_the_command_takes_it(copy: Copy, tmp_path: Path) -> None:
    write_corpus(simulate_lda(4, 4, 4, 2, 0.3, 0.5, np.random.default_rng(1)).corpus, tmp_path / "small.ldac")
    work = ["--topics", "1-2", "--method", NAME, "--sweeps", 50, "--repeats", 3, "--workers", 1]
    found = copy.command("evidence", tmp_path / "small.ldac", *work)
    assert found["unbiased"]
    assert np.isfinite(found["log_evidence"]).all()


def test_the_comparison_with_enumeration_takes_it(copy: Copy) -> None:
    said = copy.tests("tests/evidence/test_evidence.py", f"unbiased_is and {NAME}")
    assert re.search(r"\b1 passed", said), said
