"""The HDP compared with other programs: passes of variational methods, sweeps of samplers, and all of them over time.

All programs have the same scorer: left-to-right on the same held-out documents, given a program's topics and their
weights. For a sampler, these come from its last state: the means of the topics' terms given the assignments, and
weights drawn given the assignments. Tomotopy's state is treated in the same way as ours.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayestopics.base.processes import using_threads
from bayestopics.bench.programs import bags_of, words_of
from bayestopics.bench.timing import Say, Seconds, interleave, summary
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.tiny import tiny_corpus
from bayestopics.nonparametric import hdp_blocked, hdp_chain, hdp_gibbs
from bayestopics.nonparametric.hdp_held_out import EstimatedHeldOut, left_to_right_given
from bayestopics.nonparametric.hdp_state import HdpPrior, HdpState, from_assignments, random_start
from bayestopics.nonparametric.hdp_truncated import TruncatedHDP
from bayestopics.nonparametric.hdp_truncation_free import TruncationFreeHDP
from bayestopics.nonparametric.learners import compile_learner
from bayestopics.nonparametric.split_merge import split_merge
from bayestopics.nonparametric.stream import Bags, Learner, minibatches
from bayestopics.nonparametric.top_level import draw_weights

PRIOR = HdpPrior(gamma=1.0, concentration=1.0, eta=0.01)  # gensim's, and Wang & Blei's
TRUNCATION, TABLES, BATCH = 150, 15, 256  # gensim's
OVER_TIME = 1000  # documents per batch of the variational programs over time; a sampler's sweep sees all documents
KAPPA, TAU = 0.6, 1.0  # the rates of `nonparametric.truncated`; gensim adds 1 to tau itself
HELD_OUT = 20  # one document in so many is held out
START = 50  # topics of a sampler's random start, ours and tomotopy's: it hardly gets away from its default of 2
DRAWS = 10  # draws of the weights of a state; the last one counts and hardly depends on the start
PARTICLES = 10
MOVES = 10  # moves that are timed together
NEAR = 0.01  # nats per word: a level counts as reached within this distance


@dataclass(frozen=True)
class HdpEffort:
    rounds: int = 5
    warm_up: int = 100  # sweeps of tomotopy
    etas: tuple[float, ...] = (0.01, 0.1, 0.5)  # a larger eta gives fewer topics
    budget: float = 20.0  # CPU seconds per program
    checks: int = 8
    components: tuple[int, ...] = (20, 200, 2000)  # of `growth`


class Model(NamedTuple):
    """LDA with these Dirichlet parameters of the documents and these topics (V x K)."""

    alpha: np.ndarray
    theta: np.ndarray

    def score(self, held_out: Bags) -> EstimatedHeldOut:
        return left_to_right_given(self.alpha, self.theta, held_out, PARTICLES, np.random.default_rng(0))


class Running(NamedTuple):
    step: Callable[[], object]  # makes one batch or one sweep
    model: Callable[[], Model]
    topics: Callable[[], int]
    spent: float = 0.0  # CPU seconds of the steps already made


Open = Callable[[Corpus], Running]
OpenStream = Callable[[Corpus, int], Running]  # the number is the documents per batch


# -- ours ----------------------------------------------------------------------------------------------


def open_learner(make: Callable[[Corpus, np.random.Generator], Learner]) -> OpenStream:
    def opened(corpus: Corpus, batch: int) -> Running:
        rng = np.random.default_rng(1)
        learner, batches = make(corpus, rng), minibatches(corpus, batch, rng)

        def model() -> Model:
            weights, theta = learner.mean_model()
            return Model(PRIOR.concentration * weights, theta)

        return Running(lambda: learner.partial_fit(next(batches)), model, learner.used_components)

    return opened


def truncation_free(corpus: Corpus, rng: np.random.Generator, block_moves: bool = False) -> Learner:
    return TruncationFreeHDP(corpus.term_count, rng, corpus.document_count, PRIOR.eta, block_moves=block_moves)


def truncated(corpus: Corpus, rng: np.random.Generator) -> Learner:
    levels = {"truncation": TRUNCATION, "tables": TABLES}
    return TruncatedHDP(corpus.term_count, rng, corpus.document_count, PRIOR.eta, **levels)


def sweeper(name: str, rng: np.random.Generator) -> Callable[[HdpState], HdpState]:
    module = hdp_blocked if name == "blocked" else hdp_gibbs

    def sweep(state: HdpState) -> HdpState:
        state = module.sweep(state, rng)
        return split_merge(state, rng)[0] if name == "gibbs, a move" else state

    return sweep


def open_sampler(name: str) -> Open:
    def opened(corpus: Corpus) -> Running:
        rng = np.random.default_rng(1)
        state, sweep = [random_start(corpus, PRIOR, START, rng)], sweeper(name, rng)

        def step() -> None:
            state[0] = sweep(state[0])

        return Running(step, lambda: model_of(corpus, state[0].assignments), lambda: state[0].topics)

    return opened


def state_of(corpus: Corpus, assignments: np.ndarray, prior: HdpPrior) -> HdpState:
    """The model from any program's assignments; weights are drawn given them."""
    labels, assignments = np.unique(assignments, return_inverse=True)
    state = from_assignments(corpus, prior, assignments, np.full(len(labels) + 1, 1 / (len(labels) + 1)))
    rng = np.random.default_rng(2)
    for _ in range(DRAWS):
        draw_weights(state, rng)
    return state


def model_of(corpus: Corpus, assignments: np.ndarray) -> Model:
    state = state_of(corpus, assignments, PRIOR)
    counts = np.column_stack((state.term_topic[:, state.active], np.zeros(corpus.term_count)))  # and one unseen topic
    theta = (counts + PRIOR.eta) / (counts + PRIOR.eta).sum(axis=0)
    return Model(PRIOR.concentration * state.beta, theta)


# -- peers ---------------------------------------------------------------------------------------------


def open_gensim(corpus: Corpus, batch: int) -> Running:
    """gensim makes its first step when the model is made."""
    from gensim.models import HdpModel

    logging.getLogger("gensim").setLevel(logging.ERROR)
    levels = {"T": TRUNCATION, "K": TABLES, "chunksize": batch}
    prior = {"alpha": PRIOR.concentration, "gamma": PRIOR.gamma, "eta": PRIOR.eta}
    rates = {"kappa": KAPPA, "tau": TAU}
    bags, words, rng = bags_of(corpus), dict(enumerate(corpus.vocabulary)), np.random.default_rng(1)
    begin = time.process_time()
    model = HdpModel(bags, words, max_chunks=1, random_state=1, **levels, **prior, **rates)
    spent, queue = time.process_time() - begin, list[Any]()

    def step() -> None:
        if not queue:
            order = rng.permutation(len(bags)).tolist()
            queue.extend(order[start : start + batch] for start in range(0, len(order), batch))
        model.update_chunk([bags[d] for d in queue.pop(0)])

    def topics() -> int:
        return int(np.count_nonzero(model.m_lambda_sum >= 1.0))

    return Running(step, lambda: model_of_gensim(model), topics, spent)


def model_of_gensim(model: Any) -> Model:
    model.update_expectations()
    alpha, beta = model.hdp_to_lda()
    return Model(alpha, beta.T / beta.T.sum(axis=0))


def tomotopy_model(corpus: Corpus, eta: float) -> Any:
    """The optimisation of hyperparameters is switched off."""
    import tomotopy

    model = tomotopy.HDPModel(initial_k=START, alpha=PRIOR.concentration, gamma=PRIOR.gamma, eta=eta, seed=1)
    model.optim_interval = 0
    for words in words_of(corpus):
        model.add_doc(words)
    model.train(0, workers=1)
    return model


def assignments_of(model: Any, corpus: Corpus) -> np.ndarray:
    """tomotopy's assignments in the order of our tokens. Tokens of the same term in a document are interchangeable."""
    number = {word: v for v, word in enumerate(corpus.vocabulary)}
    term = np.array([number[word] for word in model.vocabs])
    parts = []
    for document in model.docs:
        order = np.argsort(term[np.asarray(document.words)], kind="stable")
        parts.append(np.asarray(document.topics)[order])
    in_order = np.lexsort((corpus.terms, corpus.documents))
    assignments = np.empty(corpus.token_count, np.int64)
    assignments[in_order] = np.concatenate(parts)
    return assignments


def open_tomotopy(corpus: Corpus) -> Running:
    model = tomotopy_model(corpus, PRIOR.eta)
    return Running(
        lambda: model.train(1, workers=1),
        lambda: model_of(corpus, assignments_of(model, corpus)),
        lambda: int(model.live_k),
    )


VARIATIONAL: dict[str, OpenStream] = {
    "truncation-free": open_learner(truncation_free),
    "truncation-free, blocks": open_learner(partial(truncation_free, block_moves=True)),
    "truncated": open_learner(truncated),
    "gensim": open_gensim,
}
CHAINS: dict[str, Open] = {name: open_sampler(name) for name in ("gibbs", "blocked", "gibbs, a move")}
CHAINS["tomotopy"] = open_tomotopy
PEERS = ("gensim", "tomotopy")


def split(corpus: Corpus) -> tuple[Corpus, Bags]:
    """Hold out one document in twenty."""
    held_out = np.arange(corpus.document_count) % HELD_OUT == HELD_OUT - 1
    training = Corpus.from_sparse(corpus.counts[~held_out], corpus.vocabulary, name=corpus.name)
    return training, Bags.of(corpus.counts[held_out], corpus.term_count)


# -- one pass ------------------------------------------------------------------------------------------


def passes(corpus: Corpus, peers: set[str], effort: HdpEffort, say: Say) -> pd.DataFrame:
    """One row per variational method: tokens per second in a first pass, and the held-out score after it."""
    training, held_out = split(corpus)
    batches = -(-training.document_count // BATCH)
    last: dict[str, Running] = {}

    def one_pass(name: str) -> None:
        last[name] = VARIATIONAL[name](training, BATCH)
        for _ in range(batches - (name == "gensim")):  # it has already made its first step
            last[name].step()

    names = _present(VARIATIONAL, peers)
    seconds = interleave({name: partial(one_pass, name) for name in names}, effort.rounds, say)
    rows = []
    for name in names:
        cost = _times("gensim", summary(seconds[name], seconds.get("gensim", {}), training.token_count))
        found = last[name].model().score(held_out)
        cell = {"corpus": corpus.name, "program": name, "tokens_a_second": 1e9 / cost["ns_a_token"], **cost}
        rows.append(cell | {"per_word": found.per_word, "error": found.standard_error, "topics": last[name].topics()})
    return pd.DataFrame(rows)


def _present(programs: Iterable[str], peers: set[str]) -> list[str]:
    return [name for name in programs if name not in PEERS or name in peers]


def _times(reference: str, costs: dict[str, float]) -> dict[str, float]:
    return {name.replace("tomotopy", reference): value for name, value in costs.items()}


# -- samplers ------------------------------------------------------------------------------------------


def sweeps(corpus: Corpus, peers: set[str], effort: HdpEffort, say: Say) -> pd.DataFrame:
    """One row per sampler and eta. Our sweeps start from tomotopy's state after its warm-up, or else from our own."""
    rows = []
    for eta in effort.etas:
        say(f"eta {eta}, warming up")
        start, model = _warmed_up(corpus, HdpPrior(PRIOR.gamma, PRIOR.concentration, eta), peers, effort.warm_up)
        states = dict.fromkeys(("gibbs", "blocked", "gibbs, a move", f"{MOVES} moves"), start)
        running: dict[str, Callable[[], object]] = {
            name: _stepping(states, name, [start.copy() for _ in range(effort.rounds + 1)]) for name in states
        }
        if model:
            running["tomotopy"] = partial(model.train, 1, workers=1)
        seconds = interleave(running, effort.rounds, say)
        after = {name: state.topics for name, state in states.items()} | ({"tomotopy": model.live_k} if model else {})
        cell = {"corpus": corpus.name, "eta": eta, "topics": start.topics, "move_in_sweeps": _share(seconds)}
        for name in [name for name in running if not name.endswith("moves")]:
            costs = summary(seconds[name], seconds.get("tomotopy", {}), corpus.token_count)
            rows.append(cell | {"program": name, "topics_after": after[name], **costs})
    return pd.DataFrame(rows)


def _warmed_up(corpus: Corpus, prior: HdpPrior, peers: set[str], warm_up: int) -> tuple[HdpState, Any | None]:
    """The state after the warm-up, and tomotopy's model if it is installed."""
    if "tomotopy" in peers:
        model = tomotopy_model(corpus, prior.eta)
        model.train(warm_up, workers=1)
        return state_of(corpus, assignments_of(model, corpus), prior), model
    rng = np.random.default_rng(1)
    state = random_start(corpus, prior, START, rng)
    for _ in range(warm_up):
        state = hdp_gibbs.sweep(state, rng)
    return state, None


def _stepping(states: dict[str, HdpState], name: str, copies: list[HdpState]) -> Callable[[], None]:
    """Each call starts from a copy of the same state, so that all have the same number of topics."""
    rng = np.random.default_rng(3)
    sweep = sweeper(name, rng)

    def step() -> None:
        state = copies.pop()
        if name.endswith("moves"):
            for _ in range(MOVES):
                state, _ = split_merge(state, rng)
        else:
            state = sweep(state)
        states[name] = state

    return step


def _share(seconds: dict[str, Seconds]) -> float:
    """The cost of a split-merge move in sweeps of `gibbs`, as the median over rounds."""
    moves, whole = seconds[f"{MOVES} moves"], seconds["gibbs"]
    timed = sorted((moves.keys() & whole.keys()) - {0}) or [0]
    return float(np.median([moves[i] / whole[i] / MOVES for i in timed]))


# -- over time -----------------------------------------------------------------------------------------


def curves(corpus: Corpus, peers: set[str], effort: HdpEffort, say: Say) -> pd.DataFrame:
    """One row per program and check: the held-out score after this many CPU seconds of learning."""
    training, held_out = split(corpus)
    rows: list[dict[str, Any]] = []
    programs: dict[str, Callable[[], Running]] = {
        **{name: partial(opened, training, OVER_TIME) for name, opened in VARIATIONAL.items()},
        **{name: partial(opened, training) for name, opened in CHAINS.items()},
    }
    for name in _present(programs, peers):
        say(f"{name} over time")
        running = programs[name]()
        seconds, steps = running.spent, int(running.spent > 0.0)
        for check in np.geomspace(effort.budget / 200, effort.budget, effort.checks).tolist():
            while seconds < check:
                begin = time.process_time()
                running.step()
                seconds, steps = seconds + time.process_time() - begin, steps + 1
            found = running.model().score(held_out)
            row = {"corpus": corpus.name, "program": name, "seconds": seconds, "steps": steps}
            row |= {"per_word": found.per_word, "error": found.standard_error, "topics": running.topics()}
            if not rows or rows[-1] != row:  # a long step may span several checks
                rows.append(row)
    return pd.DataFrame(rows)


def levels(table: pd.DataFrame) -> pd.DataFrame:
    """The seconds that our program and another need to come near the best score that both reach."""
    columns = ["corpus", "program", "reference", "level", "seconds", "seconds_of_reference"]
    columns += ["best", "best_of_reference"]
    rows = []
    for corpus, of_corpus in table.groupby("corpus", sort=False):
        curve = dict(list(of_corpus.groupby("program", sort=False)))
        for reference, name in itertools.product([peer for peer in PEERS if peer in curve], curve):
            if name not in PEERS:
                pair = curve[name], curve[reference]
                best = [part["per_word"].max() for part in pair]
                reached = [_reached(part, min(best) - NEAR) for part in pair]
                rows.append([corpus, name, reference, min(best), *reached, *best])
    return pd.DataFrame(rows, columns=columns)


def _reached(curve: pd.DataFrame, level: float) -> float:
    """Interpolate between two checks on a straight line in the log of seconds."""
    seconds, scores = np.log(curve["seconds"].to_numpy()), curve["per_word"].to_numpy()
    first = int(np.argmax(scores >= level))
    if first == 0:
        return float(np.exp(seconds[0]))
    share = (level - scores[first - 1]) / (scores[first] - scores[first - 1])
    return float(np.exp(seconds[first - 1] + share * (seconds[first] - seconds[first - 1])))


# -- all -----------------------------------------------------------------------------------------------


def measure(corpus: Corpus, peers: set[str], effort: HdpEffort, say: Say) -> dict[str, pd.DataFrame]:
    """Four tables: `passes`, `sweeps`, `curves` and `levels`."""
    say("compiling")
    _compile()
    with using_threads(1):
        found = {part.__name__: part(corpus, peers, effort, say) for part in (passes, sweeps, curves)}
    return found | {"levels": levels(found["curves"])}


def _compile() -> None:
    for kind in (TruncationFreeHDP, TruncatedHDP):
        compile_learner(kind)
    for sampler in hdp_chain.HDP_SWEEPS:
        hdp_chain.hdp_gibbs(tiny_corpus(), sweeps=30, moves=2, sampler=sampler, rng=np.random.default_rng(0))
