"""A long loop that comes to nan stops at that iteration and keeps its state; scratch of the killed is removed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
from bayestopics.base.files import replacing
from bayestopics.base.guard import NotFiniteError, not_finite, possible_log
from bayestopics.base.packing import pack, unpack
from bayestopics.cli.main import main
from bayestopics.corpus import write_corpus
from bayestopics.evidence import (
    annealing,
    chib,
    first_answer,
    harmonic,
    pmmh,
    pseudo_marginal,
    reference,
    replica_exchange,
    smc,
    walk,
)
from bayestopics.evidence import compute as evidence
from bayestopics.evidence import tempered as tempering_kernel
from bayestopics.evidence.tempered import Tempered, draw_prior
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.hyper import full_bayes, gibbs_em, louis, score_chains, tempering, variational_em
from bayestopics.lda import insertion, lanes, single_site, sparse
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.nonparametric import hdp_chain, hdp_truncated
from bayestopics.nonparametric.stream import Learner
from bayestopics.predict import completion, leave_one_out
from bayestopics.runs import chain as chains
from bayestopics.runs import driver

FIT = ["fit", "--topics", "3", "--sweeps", "9", "--burn-in", "2", "--chains", "1", "--workers", "1", "--json"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_corpus(oracle.random_corpus(np.random.default_rng(1), 80, 6, 9), tmp_path / "x.ldac")
    return tmp_path / "x.ldac"


def test_a_planted_nan_stops_a_chain_and_the_state_is_kept(
    path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, calls = chains.log_joint, []

    def planted(state: object) -> float:
        calls.append(1)
        return float("nan") if len(calls) == 6 else real(state)

    monkeypatch.setattr(chains, "log_joint", planted)
    monkeypatch.setattr(chains, "compile_sampler", lambda _: None)
    assert main([*FIT, str(path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    line = said.err.strip()
    assert line.startswith(
        "bayestopics: stopped: the log joint density is not finite at iteration 6; the state is kept in "
    )
    kept = Path(line.rpartition(" ")[2])
    assert kept.parent.parent == driver.CHECKPOINTS
    assert len(unpack(kept.read_bytes())) == 80


CORPUS, PRIOR = oracle.random_corpus(np.random.default_rng(1), 80, 6, 9), Prior(0.5, 0.5)
LADDER = np.linspace(0.0, 1.0, 6)
GRID = tempering.Grid((0.4, 0.6), (0.4, 0.6))
H, Z = np.array([0.5, 0.5]), np.zeros(80, np.int32)


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def work(**more: Any) -> dict[str, Any]:
    return {"burn_in": 0, "sweeps": 6, "rng": rng(), **more}


def tempered() -> Tempered:
    return Tempered(draw_prior(CORPUS, 2, PRIOR, rng()))


def path_of() -> reference.Path:
    state = from_assignments(CORPUS, 2, PRIOR, Z)
    return reference.Path(state, reference.fit(CORPUS, state, 20, rng()))


def left_out(sampler: str, **more: Any) -> Any:
    given = {"sampler": sampler, "burn_in": 2, "sweeps": 3, "thin": 1, "documents": [0, 3]} | more
    return leave_one_out.score(CORPUS, 2, PRIOR, **given)


def stream(kind: type) -> None:
    learner = kind(9, rng(), 6, truncation=20)
    for _ in range(4):
        learner.partial_fit(CORPUS.counts)


# name of the loop: what is broken in it, the call of it that gives nan, what runs, and what is said
Planted = tuple[Any, str, int, Callable[[], Any], str]
LOOPS: dict[str, Planted] = {
    "fit, log joint": (
        chains,
        "log_joint",
        5,
        lambda: chains.run_chain(CORPUS, 2, PRIOR, sampler="sparse", sweeps=9, rng=rng()),
        "the log joint density is not finite at iteration 5",
    ),
    "fit, sweep": (
        sparse,
        "_sweep",
        3,
        lambda: chains.run_chain(CORPUS, 2, PRIOR, sampler="sparse", sweeps=9, rng=rng()),
        "the density of a sweep is not finite at iteration 3",
    ),
    "annealing": (
        tempering_kernel,
        "_sweep",
        3,
        lambda: annealing.anneal(tempered(), LADDER, rng()),
        "the log weight of annealing is not finite at iteration 4",
    ),
    "annealing back": (
        tempering_kernel,
        "_sweep",
        3,
        lambda: annealing.anneal_backward(from_assignments(CORPUS, 2, PRIOR, Z), LADDER, rng()),
        "the log weight of annealing back is not finite at iteration 4",
    ),
    "pilot": (
        tempering_kernel,
        "_sweep",
        7,
        lambda: annealing.pilot(CORPUS, 2, PRIOR, rng(), 20),
        "in a pilot run is not finite at iteration 7",
    ),
    "replica exchange": (
        tempering_kernel,
        "_sweep",
        5 + 2 * 5 + 1,  # the start, and two rounds of five levels
        lambda: replica_exchange.exchange(CORPUS, 2, PRIOR, LADDER, 9, rng()),
        "of a replica is not finite at iteration 3",
    ),
    "smc": (
        tempering_kernel,
        "_sweep",
        4 * 2 + 1,  # two steps of four particles
        lambda: smc.smc(CORPUS, 2, PRIOR, LADDER, 4, rng()),
        "the log weight of a particle is not finite at iteration 4",
    ),
    "finding topics": (
        tempering_kernel,
        "_sweep",
        20 + 3,  # after the pilot run
        lambda: reference.find_topics(CORPUS, 2, PRIOR, 30, rng()),
        "while topics are found is not finite at iteration 3",
    ),
    "melting": (
        tempering_kernel,
        "_sweep",
        4,
        lambda: walk._Trials(CORPUS, PRIOR, 20, rng()).melt(from_assignments(CORPUS, 2, PRIOR, Z)),
        "of a heated state is not finite at iteration 4",
    ),
    "making a reference": (
        reference,
        "_sweep",
        2,
        lambda: reference.fit(CORPUS, from_assignments(CORPUS, 2, PRIOR, Z), 20, rng()),
        "while a reference is made is not finite at iteration 20",
    ),
    "pilot from a reference": (
        reference,
        "_sweep",
        2 + 4,
        lambda: reference.pilot_ladder(path_of(), 20, rng(), 20),
        "in a pilot run is not finite at iteration 4",
    ),
    "annealing from a reference": (
        reference,
        "_sweep",
        2 + 2,
        lambda: reference.anneal(path_of(), LADDER, rng()),
        "annealing from a reference is not finite at iteration 3",
    ),
    "annealing back to a reference": (
        reference,
        "_sweep",
        2 + 2,
        lambda: reference.anneal_backward(path_of(), LADDER, rng()),
        "annealing back is not finite at iteration 3",
    ),
    "pseudo-marginal": (
        sparse,
        "_sweep",
        3,
        lambda: pseudo_marginal.estimate(CORPUS, 2, PRIOR, inner=9, rng=rng()),
        "a log summand of the estimate of m(2) is not finite at iteration 3",
    ),
    "pseudo-marginal, side by side": (
        lanes,
        "_sweep",
        3,
        lambda: pseudo_marginal.estimate_together(CORPUS, [2, 3], PRIOR, inner=9, rngs=[rng(), rng()]),
        "of the estimates of m([2, 3]) is not finite at iteration 3",
    ),
    "PMMH": (
        pmmh,
        "_make",
        4,
        lambda: pmmh.pmmh(CORPUS, PRIOR, pmmh.Walk(TopicPrior(1, 4), (2,), 99), pseudo_marginal.Inner(1, "sparse")),
        "an estimate of log m(",
    ),
    "repeats of the evidence": (
        annealing,
        "repeat",
        2,
        lambda: evidence.evidence(CORPUS, [2], PRIOR, path="ais", sweeps=9, repeats=2),
        "the estimate of log m(2) is not finite at iteration 2",
    ),
    "Chib, pilot": (
        sparse,
        "_sweep",
        2,
        lambda: chib.chib(CORPUS, 2, PRIOR, sweeps=3, pilot=3, rng=rng()),
        "the density of a sweep is not finite at iteration 2",
    ),
    "Chib": (
        sparse,
        "transition_density",
        2,
        lambda: chib.chib(CORPUS, 2, PRIOR, sweeps=3, pilot=3, rng=rng()),
        "the transition density is not finite at iteration 2",
    ),
    "harmonic means": (
        harmonic,
        "log_likelihood",
        3,
        lambda: harmonic.harmonic(CORPUS, 2, PRIOR, sweeps=4, burn_in=2, rng=rng()),
        "the log likelihood is not finite at iteration 5",
    ),
    "first answer": (
        first_answer,
        "draw_eta",
        3,
        lambda: first_answer._settle(CORPUS, from_assignments(CORPUS, 2, PRIOR, Z), rng()),
        "alpha or eta while topics settle is not finite at iteration 3",
    ),
    "full Bayes": (
        full_bayes,
        "slice_step",
        2 * 3,  # alpha and eta of three sweeps
        lambda: full_bayes.full_bayes(CORPUS, 2, **work()),
        "alpha or eta is not finite at iteration 3",
    ),
    "Gibbs-EM, E step": (
        single_site,
        "_sweep",
        3,
        lambda: gibbs_em.gibbs_em(CORPUS, 2, **work(burn_in=1)),
        "the density of a sweep in step 1 is not finite at iteration 3",
    ),
    "Gibbs-EM, M step": (
        gibbs_em,
        "m_step",
        2,
        lambda: gibbs_em.gibbs_em(CORPUS, 2, **work()),
        "alpha or eta is not finite at iteration 2",
    ),
    "variational EM": (
        variational_em,
        "_tokens",
        3,
        lambda: variational_em.variational_em(CORPUS, 2, rng=rng()),
        "the bound, alpha or eta is not finite at iteration 3",
    ),
    "chain of the HDP": (
        hdp_chain,
        "log_joint",
        3,
        lambda: hdp_chain.hdp_gibbs(CORPUS, **work(burn_in=2)),
        "the log joint density is not finite at iteration 5",
    ),
    "split-merge": (
        hdp_chain,
        "split_merge",
        3,
        lambda: hdp_chain.hdp_gibbs(CORPUS, **work(), moves=2),
        "the log ratio of a split or merge is not finite at iteration 1",
    ),
    "stream": (
        hdp_truncated.TruncatedHDP,
        "_update",
        3,
        lambda: stream(hdp_truncated.TruncatedHDP),
        "the size of a topic is not finite at iteration 3",
    ),
    "leave one out": (
        lanes,
        "_sweep",
        4,
        lambda: left_out("single-site", estimator="left-to-right"),
        "without one of the documents [0, 3] is not finite at iteration 4",
    ),
    "leave one out, one by one": (
        sparse,
        "_sweep",
        3,
        lambda: left_out("sparse", estimator="left-to-right"),
        "without one of the documents [0] is not finite at iteration 3",
    ),
    "leave one out, an estimate": (
        leave_one_out,
        "log_mean_of_products",
        3,
        lambda: left_out("single-site", estimator="left-to-right"),
        "an estimate of log L(d) of the documents [0, 3] is not finite at iteration 4",
    ),
    "leave one out, warm-up": (
        single_site,
        "_sweep",
        3,
        lambda: left_out("single-site", estimator="left-to-right", warm_up=9),
        "the density of a sweep is not finite at iteration 3",
    ),
    "bridge, the whole corpus": (
        lanes,
        "_sweep",
        2,
        lambda: left_out("single-site", chains=8),
        "of the whole corpus is not finite at iteration 2",
    ),
    "bridge, forgetting": (
        lanes,
        "_sweep",
        3 + 2,  # after three sweeps of the whole corpus
        lambda: left_out("single-site", chains=8, forget=4),
        "without document 0 is not finite at iteration 2",
    ),
    "bridge, weights": (
        insertion,
        "put_in",
        1,
        lambda: left_out("single-site", chains=8),
        "a log weight of document 0 is not finite",
    ),
    "completion": (
        completion.Completion,
        "add",
        3,
        lambda: completion.score(CORPUS, 2, PRIOR, **work()),
        "a predicted probability is not finite at iteration 3",
    ),
    "score": (
        louis.Derivatives,
        "__call__",
        3,
        lambda: score_chains.leg(CORPUS, 2, H, Z, batches=2, **work()),
        "the score is not finite at iteration 3",
    ),
    "tempering": (
        tempering,
        "finite",
        1,
        lambda: tempering.temper(CORPUS, 2, GRID, sweeps=6, rng=rng()),
        "log p(w, x | alpha, eta) is not finite at iteration 1",
    ),
}


def spoiled(result: Any, arguments: tuple[Any, ...]) -> Any:
    """A result with nan in it, or what the call has changed."""
    if isinstance(result, bool):
        return False
    if isinstance(result, hdp_chain.Move):
        return result._replace(log_ratio=np.nan)
    if isinstance(result, np.ndarray):
        return np.full_like(result, np.nan)
    if isinstance(result, tuple | list):
        return type(result)(spoiled(one, arguments) for one in result)
    if isinstance(result, pmmh.Made):
        return replace(result, log_estimate=np.nan)
    if isinstance(arguments[0], Learner):
        arguments[0].components.totals[:] = np.nan
    if isinstance(arguments[0], completion.Completion):
        arguments[0].total[:] = np.nan
    return result if result is None or isinstance(result, hdp_chain.HdpState) else np.nan


@pytest.mark.parametrize("loop", LOOPS)
def test_a_planted_nan_stops_every_long_loop(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a nan that goes into a result, or that a comparison takes for a rejection."""
    place, name, call, run, said = LOOPS[loop]
    run()  # without nan it comes to its end
    real, calls = getattr(place, name), []

    def planted(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        result = real(*arguments, **more)
        return spoiled(result, arguments) if len(calls) == call else result

    monkeypatch.setattr(place, name, planted)
    monkeypatch.setattr(chains, "compile_sampler", lambda _: None)
    with pytest.raises(NotFiniteError) as raised:
        run()
    assert said in str(raised.value)
    assert raised.value.state is not None
    assert unpack(pack(raised.value.state)) is not None


def test_the_state_comes_out_of_a_worker_process() -> None:
    error = pickle.loads(pickle.dumps(not_finite("a number", 6, np.arange(3))))
    assert str(error) == "a number is not finite at iteration 7"
    assert error.state.tolist() == [0, 1, 2]


def test_the_log_of_zero_is_no_fault() -> None:
    """An estimate may be 0; it is not nan, and it is not infinite."""
    assert possible_log([-np.inf, 3.0])
    assert not possible_log([1.0, np.inf])
    assert not possible_log(np.nan)


def test_a_planted_nan_stops_the_evidence_and_the_state_is_kept(
    path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The loop has no checkpoint: the driver keeps its state."""
    monkeypatch.setattr(evidence, "compile_estimator", lambda _: None)
    monkeypatch.setattr(tempering_kernel, "_sweep", lambda *_: float("nan"))
    command = ["evidence", "--topics", "2", "--path", "smc", "--sweeps", "20", "--repeats", "1", "--workers", "1"]
    assert main([*command, str(path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    line = said.err.strip()
    assert line.startswith("bayestopics: stopped: log p(w | z) in a pilot run is not finite at iteration 1; ")
    assert len(unpack(Path(line.rpartition(" ")[2]).read_bytes()).assignments) == 80


def test_scratch_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """Guards folders that pile up, and one that a living process is still writing to."""
    die = "import os, sys, pathlib\nfrom bayestopics.base.files import replacing\n"
    die += "with replacing(pathlib.Path(sys.argv[1])) as t: t.write_text('half'); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", die, str(tmp_path / "one")])
    assert len(list(tmp_path.iterdir())) == 1
    with replacing(tmp_path / "one") as outer:
        outer.write_text("old")
        with replacing(tmp_path / "one") as inner:
            inner.write_text("new")
        assert outer.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert os.path.getsize(tmp_path / "one") == 3
