"""Results that have topics, those of `fit` and of `select`: their tables, how far each topic can be trusted, and what
other work starts from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.alignment import matched, overlap
from bayestopics.lda.state import Prior
from bayestopics.predict.new_documents import infer
from bayestopics.runs.coherence import check, coherence
from bayestopics.runs.draws import Moments, documents_table, mean_beta, mean_theta
from bayestopics.runs.kinds import CommandResult, show_words
from bayestopics.runs.reproducibility import SAME


class TopicsResult(CommandResult):
    """Topics of one chain, as means over its draws, and in how many of the other chains each of them is."""

    kind: ClassVar[str] = "of `fit` or `select`"  # what `load` reads

    @property
    def listed(self) -> list[dict[str, Any]]:
        """The topics for people, large to small; those without a token may be left out."""
        raise NotImplementedError

    @property
    def topic_count(self) -> int:
        raise NotImplementedError

    @property
    def prior(self) -> Prior:
        """alpha and eta of the topics."""
        raise NotImplementedError

    def _topic_lines(self) -> list[str]:
        topics = self.listed
        if "chains" not in topics[0]:
            return show_words(topics)
        chains = self.task.params["chains"]
        notes = [f"{one['chains']}/{chains}{' ' if one['stable'] else '?'} {one['similarity']:.2f}" for one in topics]
        return show_words(topics, notes, ", number of chains with the topic, similarity there,")

    # -- tables -----------------------------------------------------------------------------------------

    @property
    def theta(self) -> np.ndarray:
        """The posterior means of theta as a matrix of documents x topics."""
        return mean_theta(self.tables["documents"])

    def document_topics(self, deviations: bool = False) -> pd.DataFrame:
        """The posterior means of theta, the shares of the topics in each document: one row per document.

        The columns are the number of the document, its label and other columns (the metadata) where the corpus has
        them, its number of tokens, and ``topic_0``, ``topic_1``, ...; with `deviations`, also the posterior standard
        deviations ``topic_0_sd``, ...
        """
        table = self.tables["documents"]
        if deviations:
            return table
        return table.drop(columns=[f"topic_{t}_sd" for t in range(self.topic_count)])

    def topic_terms(self) -> pd.DataFrame:
        """The posterior means and standard deviations of beta, the probabilities of the terms in each topic.

        One row per topic and term that occurs in it, the most probable first. The other terms of a topic share what
        is left of its probability equally.
        """
        return self.tables["topics"]

    def beta(self, vocabulary: list[str] | None = None) -> np.ndarray:
        """The posterior means of beta as a matrix of topics x terms, for the terms of the fitted corpus in their order,
        or for those of another vocabulary. A term that the corpus does not have gets 0."""
        return mean_beta(self.tables, vocabulary)

    def betas(self) -> Iterator[np.ndarray]:
        """Draws of E[beta | z], terms x topics: at most ten of the best chain."""
        shape = len(self.tables["vocabulary"]), self.topic_count
        draw, term, topic, count = (self.arrays[f"model_{name}"] for name in ("draw", "term", "topic", "count"))
        for number in range(int(draw.max()) + 1):
            own, parameters = draw == number, np.full(shape, float(self.prior.eta))
            parameters[term[own], topic[own]] += count[own]
            yield parameters / parameters.sum(axis=0)

    @property
    def alpha(self) -> np.ndarray:
        """The Dirichlet parameter of each topic."""
        return self.prior.alpha_vector(self.topic_count)

    def new_documents(self, corpus: Corpus, sweeps: int = 12, burn_in: int = 10, seed: int = 0) -> pd.DataFrame:
        """The shares of the topics in documents that were not fitted, given the topics of this result.

        The terms of the corpus are recognised by name; those that the fit does not know are left out and counted. A
        document without known terms gets the mean of the prior. The result does not depend on the number of threads,
        nor on the other documents.

        Parameters
        ----------
        corpus : Corpus
        sweeps, burn_in : int
            The number of sweeps over each document to keep for each of ten draws of the topics, and the number to drop
            before the first of them (before the others, a fifth of it).
        seed : int
            The seed of the random numbers.

        Returns
        -------
        pandas.DataFrame
            One row per document, like `document_topics` with deviations; ``unknown`` is the number of its tokens
            whose terms the fit does not know.

        Examples
        --------
        >>> from bayestopics import Corpus, fit, simulate
        >>> corpus = simulate(documents=40, length=60, terms=20, topics=2, seed=1)
        >>> result = fit(corpus, topics=2, sweeps=50, burn_in=50, chains=2)
        >>> new = Corpus.from_sparse([[3, 1], [0, 2]], ["w01", "no such term"])
        >>> table = result.new_documents(new)
        >>> table["unknown"].tolist()
        [1, 2]
        >>> table.loc[1, ["topic_0", "topic_1"]].tolist()
        [0.5, 0.5]
        """
        vocabulary = self.tables["vocabulary"]["term"].tolist()
        found = infer(corpus, vocabulary, self.betas(), self.alpha, sweeps=sweeps, burn_in=burn_in, seed=seed)
        table = documents_table(corpus, Moments(found.mean, found.deviation))
        table.insert(table.columns.get_loc("tokens") + 1, "unknown", found.unknown)
        return table

    def compare(self, other: TopicsResult) -> pd.DataFrame:
        """Which topics of another fit are the same as those of this one.

        The topics are paired so that the sum of their similarities is largest. The similarity is the overlap of two
        topics, the sum over all terms of the smaller of the two probabilities: 1 if they are equal, 0 if they have no
        term in common. The fits may differ in everything, also in the corpus and in the number of topics.

        Returns
        -------
        pandas.DataFrame
            One row per topic of this fit: ``topic``, ``other`` (the topic of the other fit, or -1), ``similarity``
            and ``same`` (whether it is at least 0.7).

        Examples
        --------
        >>> from bayestopics import fit, simulate
        >>> corpus = simulate(documents=40, length=60, terms=20, topics=2, seed=1)
        >>> first, second = (fit(corpus, topics=2, sweeps=50, burn_in=50, chains=2, seed=seed) for seed in (0, 1))
        >>> first.compare(second)["same"].tolist()
        [True, True]
        """
        vocabulary = list(dict.fromkeys([*self.tables["vocabulary"]["term"], *other.tables["vocabulary"]["term"]]))
        similarity = overlap(self.beta(vocabulary), other.beta(vocabulary))
        pairs = matched(similarity)
        found = np.where(pairs >= 0, similarity[np.arange(len(pairs)), pairs], 0.0)
        return pd.DataFrame(
            {"topic": np.arange(len(pairs)), "other": pairs, "similarity": found, "same": found >= SAME}
        )

    def coherence(self, corpus: Corpus, words: int = 10) -> pd.DataFrame:
        """How often the leading words of each topic occur in the same documents of a corpus.

        The corpus may be the fitted one or another; its terms are recognised by name. See `bayestopics.runs.coherence`
        for what the numbers mean.

        Parameters
        ----------
        corpus : Corpus
        words : int
            The number of leading words of a topic.

        Returns
        -------
        pandas.DataFrame
            One row per topic: ``topic``, ``words`` (the number of leading words that the corpus has), ``npmi``,
            ``umass`` and ``c_v``.

        Examples
        --------
        >>> from bayestopics import fit, simulate
        >>> corpus = simulate(documents=40, length=60, terms=20, topics=2, seed=1)
        >>> result = fit(corpus, topics=2, sweeps=50, burn_in=50, chains=2)
        >>> result.coherence(corpus, words=5).columns.tolist()
        ['topic', 'words', 'npmi', 'umass', 'c_v']
        """
        check(words)
        leading = self.tables["topics"].groupby("topic")["term"].apply(lambda terms: terms.head(words).tolist())
        return coherence({int(topic): terms for topic, terms in leading.items()}, corpus)

    # -- for other programs -----------------------------------------------------------------------------

    def write_csv(self, folder: Path | str) -> None:
        """Write ``documents.csv`` (`document_topics`, with standard deviations) and ``topics.csv`` (`topic_terms`).

        A label or term that a spreadsheet would take for a formula, because it begins with one of = + - @, gets an
        apostrophe before it.
        """
        from bayestopics.runs.export import write_csv

        write_csv(self.document_topics(deviations=True), Path(folder) / "documents.csv")
        write_csv(self.topic_terms(), Path(folder) / "topics.csv")

    def to_gensim(self) -> Any:
        """The topics as a `gensim.models.LdaModel`; gensim is not installed together with bayestopics."""
        from bayestopics.runs.export import to_gensim

        return to_gensim(self)
