"""The choices that do not look at the corpus, as the paper lists them: (eta, alpha)."""

import pytest

from bayestopics.base.problems import InputError
from bayestopics.hyper.ad_hoc import CHOICES, ad_hoc


def test_the_papers_choices():
    found = [(prior.eta, prior.alpha) for prior in (ad_hoc(name, 8) for name in CHOICES)]
    assert found == [(0.1, 50 / 8), (0.1, 0.1), (1 / 8, 1 / 8)]


def test_bad_names_and_topics():
    with pytest.raises(InputError, match="choose from griffiths-steyvers, asuncion, gensim"):
        ad_hoc("mallet", 8)
    with pytest.raises(InputError, match="at least 1"):
        ad_hoc("gensim", 0)
