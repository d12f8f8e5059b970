"""The choice of (T, alpha, eta): on a corpus whose law is known, and its Laplace step against an exact integral."""

from dataclasses import fields

import numpy as np
import pytest

from bayestopics.api import select
from bayestopics.base.problems import InputError
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper.best import Ellipse
from bayestopics.hyper.full_bayes import FullBayes
from bayestopics.runs.record import same_bits
from bayestopics.runs.select import LOG_AREA, log_volume

SEPARATE = simulate_lda(
    documents=60, length=50, terms=20, topics=3, alpha=0.2, eta=0.2, rng=np.random.default_rng(5)
).corpus


def test_the_law_that_generated_the_corpus_is_found():
    found = select(SEPARATE, [2, 3, 5], sweeps=300, steps=100, repeats=2, chains=2, seed=1)
    assert found.answer["topics"] == 3
    assert found.posterior[3] > 0.9
    assert sum(found.posterior.values()) == pytest.approx(1)
    region = Ellipse(**{field.name: found.answer["region"][field.name] for field in fields(Ellipse)})
    assert region.covers(np.array([0.2, 0.2]))
    assert list(found.tables["evidence"]["topics"]) == [2, 3, 5]
    again = select(SEPARATE, [5, 3, 2, 3], sweeps=300, steps=100, repeats=2, chains=2, seed=1, workers=2)
    assert same_bits(again, found)


def test_the_volume_of_a_normal_density():
    """If log h is normal, the integral of m(h) / m(mode) over log h is 2 pi sqrt(det): Laplace is exact."""
    rng = np.random.default_rng(1)
    covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    logs = rng.multivariate_normal([0.0, 1.0], covariance, 200_000)
    truth = np.log(2 * np.pi * np.sqrt(np.linalg.det(covariance))) - LOG_AREA
    assert log_volume(FullBayes(np.exp(logs), None)) == pytest.approx(truth, abs=0.02)  # error of log det: 0.005


def test_one_topic_has_no_alpha():
    with pytest.raises(InputError, match="no meaning"):
        select(SEPARATE, [1, 2])
