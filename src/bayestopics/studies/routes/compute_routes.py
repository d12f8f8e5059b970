"""Study `routes`: the number of topics of one corpus by every route in this project, side by side.

The routes do not estimate the same thing; `ESTIMATES` says what each of them estimates. The LDA routes share alpha and
eta; the HDP routes share gamma, a and the same eta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.registry import Registry
from bayestopics.evidence.compute import evidence
from bayestopics.evidence.pmmh import Walk, pmmh
from bayestopics.evidence.pseudo_marginal import Inner
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.nonparametric.compute import LARGE, HdpSettings, learn, sample
from bayestopics.predict.by_topics import documents_table, scores_by_topics, warnings_of
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

ESTIMATES = {
    "annealed evidence": "posterior of T: LDA with this alpha, eta",
    "PMMH": "the same posterior, by chains with noisy estimates",
    "leave-one-out score": "the T that best predicts a left-out document",
    "HDP Gibbs": "posterior of K, topics in use: HDP with this gamma, a, eta",
    "HDP split-merge": "the same posterior, by chains with larger moves",
    "truncation-free": "topics in use at a variational optimum, one per seed",
}
EVIDENCE, PMMH, SCORE, GIBBS, SPLIT_MERGE, FREE = ESTIMATES
LIKELY = 3.0  # nats: includes every T with at least a twentieth of the best T's posterior probability
MOVES = 10  # split-merge moves after a sweep: with 20 topics they cost about as much as the sweep
Part = tuple[str, Callable[[Task, Corpus, Any], "PartResult"]]


@dataclass
class PartResult:
    """The result of one part of a route. `rows` has T or K, its weight and, where they exist, its error and chain."""

    rows: list[dict[str, float]]
    warnings: list[str] = field(default_factory=list)


@dataclass
class PartCheckpoint:
    """The checkpoint of one part within the checkpoint of the run, which also saves the results of earlier parts."""

    whole: Checkpoint
    done: dict[str, PartResult]
    saved: Any | None

    def load(self) -> Any | None:
        return self.saved

    def due(self) -> bool:
        return self.whole.due()

    def save(self, state: Any) -> None:
        self.whole.save((self.done, state))


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Tables: `answers`, one row per route; `details`, the numbers behind the answers."""
    before: tuple[dict[str, PartResult], Any] = checkpoint.load() or ({}, None)
    done, saved = before
    for name, job in parts(task):
        if name not in done:
            part = replace(task, name=f"{task.name}/{name}")
            done[name] = job(part, corpus, PartCheckpoint(checkpoint, done, saved))
            saved = None
            checkpoint.save((done, saved))
    details = pd.DataFrame([{"route": _route(name), **row} for name, found in done.items() for row in found.rows])
    answers = answers_of(details)
    metrics = {f"{row.route}: {name}": getattr(row, name) for row in answers.itertuples() for name in ("low", "high")}
    metrics |= {row.route: row.topics for row in answers.itertuples()} | {"true_topics": true_topics(task, corpus)}
    doubts = [f"{_route(name)}: {text}" for name, found in done.items() for text in found.warnings]
    tables = {"answers": answers, "details": details}
    return Result(task, metrics, list(dict.fromkeys(doubts)), tables=tables)


def _route(part: str) -> str:
    return part.partition("/")[0]


def true_topics(task: Task, corpus: Corpus) -> float:
    """The number of topics that generated the corpus; nan for a real corpus."""
    registry = Registry()
    if not registry[task.params["corpus"]].generator:
        return float("nan")
    return len(registry.simulate(task.params["corpus"]).truth["beta"])


# -- the routes ----------------------------------------------------------------------------------------


def parts(task: Task) -> Iterable[Part]:
    """The parts of all routes. A part has the name of its route, with a number if the route has several chains."""
    yield EVIDENCE, by_evidence
    yield PMMH, by_pmmh
    yield SCORE, by_score
    for route, method in ((GIBBS, "gibbs"), (SPLIT_MERGE, "split-merge")):
        for number in range(task.params["hdp"]["chains"]):
            yield f"{route}/{number}", _hdp(method, number)
    for number in range(task.params["streams"]["seeds"]):
        yield f"{FREE}/{number}", _hdp("truncation-free", number)


def _prior(task: Task) -> Prior:
    return Prior(task.params["alpha"], task.params["eta"])


def by_evidence(task: Task, corpus: Corpus, checkpoint: Any) -> PartResult:
    work, seed = dict(task.params["evidence"]), seed_from(task.generator())
    found = evidence(corpus, work.pop("topics"), _prior(task), **work, seed=seed, checkpoint=checkpoint)
    names = {"topics": "topics", "weight": "log_evidence", "error": "standard_error"}
    columns = {name: [np.nan if value is None else value for value in found[key]] for name, key in names.items()}
    return PartResult(pd.DataFrame(columns).to_dict("records"), found["warnings"])


def by_pmmh(task: Task, corpus: Corpus, checkpoint: Any) -> PartResult:
    work = task.params["pmmh"]
    burn_in = work["iterations"] // 2
    found = pmmh(
        corpus,
        _prior(task),
        Walk(TopicPrior(2, work["most"]), tuple(work["starts"]), work["iterations"] - burn_in, burn_in),
        Inner(work["inner"], "sparse"),
        seed=seed_from(task.generator()),
        checkpoint=checkpoint,
    )
    rows = []
    for chain, trace in found.trace.groupby("chain"):
        rows += _shares(trace["topics"].to_numpy()[burn_in:], int(chain))
    return PartResult(rows, found.warnings)


def by_score(task: Task, corpus: Corpus, checkpoint: Any) -> PartResult:
    """`weight` is the mean over documents of log L(d), minus that of the best T; `error` is that of this difference."""
    work = {"sampler": "single-site", **task.params["score"]}
    prior = Prior(task.params["alpha"], task.params["eta"])
    made = scores_by_topics(
        corpus,
        work["topics"],
        prior,
        work,
        seed=seed_from(task.generator()),
        checkpoint=checkpoint,
        description=task.name,
    )
    by_topics = documents_table(made).pivot(index="document", columns="topics", values="log_likelihood")
    lead = by_topics.sub(by_topics[by_topics.mean().idxmax()], axis=0)
    errors = lead.std(ddof=1) / np.sqrt(len(lead))
    rows = [{"topics": int(t), "weight": float(lead[t].mean()), "error": float(errors[t])} for t in lead]
    return PartResult(rows, warnings_of(made))


def _hdp(method: str, number: int) -> Callable[[Task, Corpus, Any], PartResult]:
    def by_hdp(task: Task, corpus: Corpus, checkpoint: Any) -> PartResult:
        params = task.params
        sizes = {"sweeps": params["hdp"]["sweeps"], "burn_in": params["hdp"]["burn_in"]}
        if method == "truncation-free":
            sizes = {"sweeps": params["streams"]["passes"], "batch_size": params["streams"]["batch"]}
        prior = {key: params[key] for key in ("eta", "gamma", "concentration")}
        settings = HdpSettings(method=method, moves=MOVES if method == "split-merge" else None, **prior, **sizes)
        if settings.sampled:
            rows = pd.DataFrame(
                sample(corpus, settings, number, task.generator, checkpoint, None).rows[settings.burn_in :]
            )
            return PartResult(_shares(rows["topics"].to_numpy(), number, rows["large_topics"].to_numpy()))
        ended = learn(corpus, settings, number, task.generator, checkpoint, None)
        tokens = ended.counts.sum(axis=0)
        large = np.count_nonzero(tokens >= LARGE * tokens.sum())
        return PartResult(_shares(np.array([len(tokens)]), number, np.array([large])))

    return by_hdp


def _shares(topics: np.ndarray, chain: int, large: np.ndarray | None = None) -> list[dict[str, float]]:
    """How often each number occurs, or each pair of a number and a number of large topics."""
    columns = {"topics": topics} | ({} if large is None else {"large_topics": large})
    weights = pd.DataFrame(columns).value_counts(normalize=True, sort=False).rename("weight")
    return weights.reset_index().assign(chain=chain).to_dict("records")


# -- their answers -------------------------------------------------------------------------------------


def answers_of(details: pd.DataFrame) -> pd.DataFrame:
    """One row per route: `topics`, with the interval from `low` to `high`.

    - evidence: the T with the largest log m(T), and every T whose log m(T) is within LIKELY of it, or may be within two
      standard errors of each;
    - score: the T with the largest score, and every T whose score differs from it by at most two standard errors;
    - PMMH and the HDP samplers: median and central 95 % of all chains together; `apart` means that the chains disagree,
      because no number lies within the central 95 % of every chain;
    - truncation-free: median and range over the seeds.
    `at_the_edge` means that the best T is at an end of the range that was tried. `large_topics` is the median number of
    topics that hold at least a hundredth of the tokens.
    """
    rows = []
    for route, table in details.groupby("route", sort=False):
        if route in (EVIDENCE, SCORE):
            row = _best(table, LIKELY if route == EVIDENCE else 0.0)
        else:
            row = _central(table, 1.0 if route == FREE else 0.95)
        nothing = {"at_the_edge": False, "apart": False, "large_topics": np.nan}
        rows.append({"route": route, "estimates": ESTIMATES[str(route)], **nothing, **row})
    return pd.DataFrame(rows)


def _best(table: pd.DataFrame, slack: float) -> dict[str, Any]:
    best, error = table.loc[table["weight"].idxmax()], table["error"].fillna(0.0)
    reach = slack + 2 * (error + (0.0 if slack == 0 else error[best.name]))
    near = table.loc[table["weight"] >= best["weight"] - reach, "topics"]
    edge = best["topics"] in (table["topics"].min(), table["topics"].max())
    return {"topics": best["topics"], "low": near.min(), "high": near.max(), "at_the_edge": bool(edge)}


def _central(table: pd.DataFrame, share: float) -> dict[str, Any]:
    chains = [_quantiles(chain, share) for _, chain in table.groupby("chain")]
    low, middle, high = _quantiles(table, share)
    apart = max(one[0] for one in chains) > min(one[2] for one in chains)
    large = _quantiles(table, share, "large_topics")[1] if table["large_topics"].notna().any() else np.nan
    return {"topics": middle, "low": low, "high": high, "apart": bool(apart and share < 1), "large_topics": large}


def _quantiles(table: pd.DataFrame, share: float, column: str = "topics") -> tuple[float, float, float]:
    """(low, median, high) of numbers with weights."""
    by_number = table.groupby(column)["weight"].sum()
    cumulative = by_number.cumsum() / by_number.sum()
    ends = ((1 - share) / 2, 0.5, (1 + share) / 2)
    places = np.minimum(np.searchsorted(cumulative, np.array(ends) - 1e-12), len(by_number) - 1)
    low, middle, high = by_number.index[places].astype(float)
    return low, middle, high
