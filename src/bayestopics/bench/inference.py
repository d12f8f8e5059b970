"""How fast new documents get their topics: ours and tomotopy's `infer`, on the same documents, in one thread.

Both are given the topics of their own short fit, because tomotopy takes none from others. Each makes its usual number
of sweeps: ours 12 for each of ten draws of the topics and some before them, which gives standard deviations, tomotopy's
100 for one state.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from bayestopics.base.processes import using_threads
from bayestopics.bench.programs import PRIOR, words_of
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import sampler
from bayestopics.predict.new_documents import burn_in_of, infer

DRAWS, SWEEPS, BURN_IN = 10, 12, 10  # the defaults of `FitResult.new_documents`, which has at most ten draws
ITERATIONS = 100  # the default of tomotopy
FIT_SWEEPS = 100


def measure(corpus: Corpus, topics: int, rounds: int, tomotopy: bool) -> pd.DataFrame:
    """CPU time of inference for all documents of the corpus: the fastest of several rounds, in turns."""
    calls = {"bayestopics": (_ours(corpus, topics), sum(SWEEPS + burn_in_of(draw, BURN_IN) for draw in range(DRAWS)))}
    if tomotopy:
        calls["tomotopy"] = (_tomotopy(corpus, topics), ITERATIONS)
    times: dict[str, list[float]] = {name: [] for name in calls}
    with using_threads(1):
        for _ in range(rounds):
            for name, (call, _) in calls.items():
                begin = time.process_time()
                call()
                times[name].append(time.process_time() - begin)
    rows = []
    for name, (_, sweeps) in calls.items():
        seconds = min(times[name])
        cost = {"ms_a_document": 1e3 * seconds / corpus.document_count}
        cost |= {"ns_a_token_and_sweep": 1e9 * seconds / corpus.token_count / sweeps}
        rows.append({"corpus": corpus.name, "topics": topics, "program": name, "sweeps": sweeps, **cost})
    return pd.DataFrame(rows)


def _ours(corpus: Corpus, topics: int) -> Callable[[], object]:
    module, rng = sampler("sparse"), np.random.default_rng(1)
    state = module.init(corpus, topics, PRIOR, rng)
    betas = []
    for sweep in range(FIT_SWEEPS):
        module.sweep(state, rng)
        if sweep >= FIT_SWEEPS - DRAWS:
            beta = state.term_topic + PRIOR.eta
            betas.append(beta / beta.sum(axis=0))
    alpha = PRIOR.alpha_vector(topics)

    def call() -> object:
        return infer(corpus, corpus.vocabulary, betas, alpha, sweeps=SWEEPS, burn_in=BURN_IN)

    call()  # compiles the kernels
    return call


def _tomotopy(corpus: Corpus, topics: int) -> Callable[[], object]:
    import tomotopy

    model = tomotopy.LDAModel(k=topics, alpha=PRIOR.alpha, eta=PRIOR.eta, seed=1)
    for words in words_of(corpus):
        model.add_doc(words)
    model.train(FIT_SWEEPS, workers=1)
    documents = [model.make_doc(words) for words in words_of(corpus)]
    return lambda: model.infer(documents, iterations=ITERATIONS, workers=1)
