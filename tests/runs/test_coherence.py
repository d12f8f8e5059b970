"""Coherence by its definition, word by word, and beside gensim where it is installed."""

from __future__ import annotations

import doctest
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayestopics.api import fit
from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.runs import fit_result
from bayestopics.runs.coherence import TINY, coherence

# ant and bee always together, cow apart from them, dog everywhere
PETS = Corpus.from_sparse([[2, 1, 0, 1], [1, 3, 0, 1], [0, 0, 2, 2], [0, 0, 1, 1]], ["ant", "bee", "cow", "dog"])
LAW = simulate_lda(documents=60, length=30, terms=25, topics=3, alpha=0.3, eta=0.2, rng=np.random.default_rng(2))


def test_extremes() -> None:
    together, apart, free = (
        coherence({0: words}, PETS).loc[0] for words in (["ant", "bee"], ["ant", "cow"], ["ant", "dog"])
    )
    assert_allclose(together["npmi"], 1, atol=1e-9)
    assert apart["npmi"] < -0.9
    assert_allclose(free["npmi"], 0, atol=1e-9)
    assert_allclose([together["umass"], apart["umass"]], np.log([3 / 2, 1 / 2]))


def test_umass_divides_by_the_more_probable_word() -> None:
    assert_allclose(coherence({0: ["dog", "ant"]}, PETS)["umass"], np.log(3 / 4))
    assert_allclose(coherence({0: ["ant", "dog"]}, PETS)["umass"], np.log(3 / 2))


def test_npmi_by_its_definition() -> None:
    words = list(LAW.corpus.vocabulary[:6])
    has = LAW.corpus.counts.toarray()[:, :6] > 0
    values = []
    for i, j in combinations(range(6), 2):
        both, one, other = (np.mean(x) for x in (has[:, i] & has[:, j], has[:, i], has[:, j]))
        values.append(np.log((both + TINY) / (one * other)) / -np.log(both + TINY))
    found = coherence({7: words}, LAW.corpus)
    assert found[["topic", "words"]].to_numpy().tolist() == [[7, 6]]
    assert_allclose(found["npmi"], np.mean(values))


def test_unknown_words_are_left_out() -> None:
    found = coherence({0: ["ant", "emu", "bee"], 1: ["emu", "ant"]}, PETS)
    assert found["words"].tolist() == [2, 1]
    assert_allclose(found["npmi"][0], 1, atol=1e-9)
    assert np.isnan(found["npmi"][1])


def test_of_a_fit() -> None:
    found = fit(LAW.corpus, 3, sweeps=10, burn_in=20, chains=2)
    table = found.coherence(LAW.corpus, words=4)
    first = {one["topic"]: one["words"][:4] for one in found.answer["topics"]}
    assert_allclose(table["npmi"], coherence(dict(sorted(first.items())), LAW.corpus)["npmi"])
    with pytest.raises(InputError, match="at least 2 words"):
        found.coherence(LAW.corpus, words=1)


def test_beside_gensim() -> None:
    models, corpora = pytest.importorskip("gensim.models"), pytest.importorskip("gensim.corpora")
    corpus, topics = LAW.corpus, {0: list(LAW.corpus.vocabulary[:6]), 1: list(LAW.corpus.vocabulary[10:16])}
    words = np.array(corpus.vocabulary)
    texts = [words[corpus.terms[corpus.documents == d]].tolist() for d in range(corpus.document_count)]
    found = coherence(topics, corpus)
    for name in ("npmi", "c_v"):
        about = {"coherence": "c_v" if name == "c_v" else "c_npmi", "window_size": 1000, "processes": 1}
        gensim = models.CoherenceModel(
            topics=list(topics.values()), texts=texts, dictionary=corpora.Dictionary(texts), **about
        )
        assert_allclose(found[name], gensim.get_coherence_per_topic(), rtol=1e-6)


@pytest.mark.parametrize("name", ["compare", "new_documents", "coherence"])
def test_examples_of_the_methods_of_a_fit(name: str) -> None:
    runner = doctest.DocTestRunner()
    for example in doctest.DocTestFinder().find(getattr(fit_result.FitResult, name), name, globs={}):
        runner.run(example)
    assert runner.tries > 0
    assert runner.failures == 0
