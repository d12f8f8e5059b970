"""What is compared: our samplers and other programs. A program is opened on a corpus and returns a sweep to call.

Samplers draw every assignment once per sweep. gensim and scikit-learn are variational: a pass over the corpus is a
different amount of work towards a different approximation. Their numbers say what a pass costs, and no more.
"""

from __future__ import annotations

import importlib.metadata
import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

import numpy as np
import scipy.sparse

from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import pseudo_marginal
from bayestopics.lda import SAMPLERS, lanes, sampler
from bayestopics.lda.lanes import CHAINS
from bayestopics.lda.state import Prior, State
from bayestopics.runs.chain import compile_sampler

PRIOR = Prior(0.1, 0.01)
WARM_UP_SECONDS = 10.0  # the longest warm-up of a program that cannot start from our state


class Opened(NamedTuple):
    sweep: Callable[[], object]
    sweeps_before: int  # sweeps of the chain since its random start


# (corpus, the state to start from, sweeps from a random start to that state)
Open = Callable[[Corpus, State, int], Opened]


@dataclass(frozen=True)
class Program:
    name: str
    algorithm: str
    open: Open
    chains: int = 1  # chains that a sweep moves: its time is divided among them
    package: str | None = None  # of another program: the name of its distribution
    module: str | None = None  # of another program: what is imported

    @property
    def variational(self) -> bool:
        """Whether it is variational: it then has no chain, and a pass is timed early only."""
        return self.algorithm.startswith("variational")


# -- ours --------------------------------------------------------------------------------------------


def ours(name: str) -> Open:
    def open_sampler(corpus: Corpus, start: State, sweeps: int) -> Opened:
        compile_sampler(name)
        module, rng, state = sampler(name), np.random.default_rng(1), start.copy()
        return Opened(lambda: module.sweep(state, rng), sweeps)

    return open_sampler


def open_side_by_side(corpus: Corpus, start: State, sweeps: int) -> Opened:
    """Eight chains from the same state, as PMMH runs them."""
    pseudo_marginal.compile_estimates("single-site")
    rng = np.random.default_rng(1)
    state = lanes.init(corpus, [start.topics] * CHAINS, PRIOR, [start.assignments] * CHAINS)
    return Opened(lambda: lanes.sweep(state, rng.integers(1, 2**64, size=(4, CHAINS), dtype=np.uint64)), sweeps)


# -- peers -------------------------------------------------------------------------------------------


def words_of(corpus: Corpus) -> Iterator[list[str]]:
    """The input of tomotopy: the words of each document that has any."""
    offsets, words = corpus.document_offsets, np.array(corpus.vocabulary, dtype=object)[corpus.terms]
    for d in range(corpus.document_count):
        if offsets[d] < offsets[d + 1]:
            yield words[offsets[d] : offsets[d + 1]].tolist()


def bags_of(corpus: Corpus) -> list[list[tuple[int, int]]]:
    """The input of gensim: (term, count) pairs."""
    counts = corpus.counts
    pairs = list(zip(counts.indices.tolist(), counts.data.tolist(), strict=True))
    return [pairs[counts.indptr[d] : counts.indptr[d + 1]] for d in range(corpus.document_count)]


def open_tomotopy(corpus: Corpus, start: State, sweeps: int) -> Opened:
    """tomotopy has its own random start, because it takes no assignments. It does not optimise hyperparameters here."""
    import tomotopy

    model = tomotopy.LDAModel(k=start.topics, alpha=PRIOR.alpha, eta=PRIOR.eta, seed=1)
    model.optim_interval = 0
    for words in words_of(corpus):
        model.add_doc(words)
    model.train(0, workers=1)
    done, begin = 0, time.perf_counter()
    while done < sweeps and time.perf_counter() - begin < WARM_UP_SECONDS:
        model.train(1, workers=1)
        done += 1
    return Opened(lambda: model.train(1, workers=1), done)


def open_lda(corpus: Corpus, start: State, sweeps: int) -> Opened:
    """From our state, by the program's own sweep function, without the bookkeeping of its fit()."""
    from lda import LDA

    logging.getLogger("lda").setLevel(logging.ERROR)
    model = LDA(n_topics=start.topics, alpha=PRIOR.alpha, eta=PRIOR.eta, random_state=1)
    # what its _initialize() sets; topics x terms in Fortran order, as there
    model.WS, model.DS, model.ZS = (
        np.array(values, dtype=np.intc) for values in (corpus.terms, corpus.documents, start.assignments)
    )
    model.nzw_ = np.array(start.term_topic.T, dtype=np.intc, order="F")
    model.ndz_ = np.array(start.document_topic, dtype=np.intc, order="C")
    model.nz_ = np.array(start.topic_total, dtype=np.intc)
    return Opened(lambda: model._sample_topics(model._rands), sweeps)


def open_gensim(corpus: Corpus, start: State, sweeps: int) -> Opened:
    """One pass of gensim's online updates, with its own chunks and stopping rule."""
    from gensim.models import LdaModel

    logging.getLogger("gensim").setLevel(logging.ERROR)
    model = LdaModel(
        num_topics=start.topics,
        id2word=dict(enumerate(corpus.vocabulary)),
        alpha=[PRIOR.alpha] * start.topics,
        eta=PRIOR.eta,
        eval_every=None,
        random_state=1,
    )
    bags = bags_of(corpus)
    return Opened(lambda: model.update(bags), 0)


def open_scikit_learn(corpus: Corpus, start: State, sweeps: int) -> Opened:
    """One batch update with scikit-learn's own stopping rule; fit() would add a second pass for the perplexity."""
    from sklearn.decomposition import LatentDirichletAllocation

    prior = {"doc_topic_prior": PRIOR.alpha, "topic_word_prior": PRIOR.eta}
    model = LatentDirichletAllocation(start.topics, learning_method="batch", random_state=1, **prior)
    model._init_latent_vars(corpus.term_count)
    matrix = scipy.sparse.csr_matrix(corpus.counts.astype(np.float64))
    return Opened(lambda: model._em_step(matrix, total_samples=corpus.document_count, batch_update=True), 0)


OURS = tuple(Program(name, "Gibbs", ours(name)) for name in SAMPLERS)
SIDE_BY_SIDE = Program("side-by-side", "Gibbs, eight chains", open_side_by_side, CHAINS)
PEERS = (
    Program("tomotopy", "collapsed Gibbs", open_tomotopy, 1, "tomotopy", "tomotopy"),
    Program("lda", "collapsed Gibbs", open_lda, 1, "lda", "lda"),
    Program("gensim", "variational, online", open_gensim, 1, "gensim", "gensim.models"),
    Program("scikit-learn", "variational, batch", open_scikit_learn, 1, "scikit-learn", "sklearn.decomposition"),
)
PROGRAMS = {program.name: program for program in (*OURS, SIDE_BY_SIDE, *PEERS)}


def choose(names: Iterable[str]) -> tuple[list[Program], dict[str, str]]:
    """The programs with these names that can be imported, and the reasons why the others cannot."""
    chosen, left_out = [], {}
    for name in names:
        if name not in PROGRAMS:
            raise InputError(f"unknown program {name!r}; known are {', '.join(PROGRAMS)}")
        program = PROGRAMS[name]
        try:
            if program.module:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    import_module(program.module)
            chosen.append(program)
        except Exception as error:  # a package built for another numpy fails in its own ways
            left_out[name] = f"{type(error).__name__}: {error}"
    return chosen, left_out


def peer_versions() -> dict[str, str]:
    found = {}
    for package in [peer.package for peer in PEERS if peer.package]:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
