"""Choosing T, alpha and eta together on a corpus whose law is known."""

from dataclasses import fields

import numpy as np
import pytest

from bayestopics.api import select
from bayestopics.base.problems import InputError
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.hyper.best import Ellipse
from bayestopics.runs.record import same_bits

SEPARATE = simulate_lda(
    documents=60, length=50, terms=20, topics=3, alpha=0.2, eta=0.2, rng=np.random.default_rng(5)
).corpus


def test_the_law_that_generated_the_corpus_is_found():
    found = select(SEPARATE, iterations=600, chains=2, seed=1)
    assert found.answer["topics"] == 3
    assert found.answer["agree"]
    assert found.answer["probability"] > 0.9
    assert list(found.interval[3]) == found.answer["between"]
    assert "+-" not in found.text()
    assert 0.2 < found.answer["between"][0] < found.answer["probability"]  # few draws count in so short chains
    assert found.answer["first_answer"]["topics"] in (3, 4)
    assert sum(found.posterior.values()) == pytest.approx(1, abs=1e-5)
    region = Ellipse(**{field.name: found.answer["region"][field.name] for field in fields(Ellipse)})
    assert region.covers(np.array([0.2, 0.2]))
    assert found.task.params["topics"]["high"] == 54  # the square root of 3000
    again = select(SEPARATE, TopicPrior(1, 54), iterations=600, burn_in=600, chains=2, seed=1, workers=2)
    assert same_bits(again, found)


def test_a_range_has_no_gaps():
    with pytest.raises(InputError, match="without gaps"):
        select(SEPARATE, [2, 5])
    with pytest.raises(InputError, match="without gaps"):
        select(SEPARATE, [])
