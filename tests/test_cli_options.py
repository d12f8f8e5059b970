"""Every option of a command reaches the argument of its own name: all are given, with values that differ."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bayestopics import api
from bayestopics.base.problems import InputError
from bayestopics.cli import arguments
from bayestopics.cli.main import COMMANDS, build_parser, main
from bayestopics.corpus import Corpus, Pruning, write_corpus
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.nonparametric.compute import HdpSettings
from bayestopics.runs import driver
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

PLACE = {"seed": 91, "overwrite": True}
MODEL = "--topics 3 --alpha 0.4,0.5,0.6 --eta 0.7 --sampler sparse --sweeps 11 --burn-in 12 "
GIVEN: dict[str, tuple[str, dict[str, Any]]] = {
    "fit": (
        MODEL + "--chains 13 --start progressive --workers 14 --threads 15",
        {"topics": 3, "prior": Prior((0.4, 0.5, 0.6), 0.7), "sampler": "sparse"}
        | {"sweeps": 11, "burn_in": 12, "chains": 13, "start": "progressive", "workers": 14, "threads": 15},
    ),
    "evidence": (
        "--topics 2-4,9 --alpha 0.4 --eta 0.7 --method annealing --path smc --sweeps 11 --passes 12 --repeats 13 "
        "--start-from found --workers 14",
        {"topics": [2, 3, 4, 9], "prior": Prior(0.4, 0.7), "method": "annealing", "path": "smc"}
        | {"sweeps": 11, "passes": 12, "repeats": 13, "start": Path("found"), "workers": 14},
    ),
    "topics": (
        "--method pmmh --hyper sampled --min 2 --max 77 --start 4,6 --prior poisson:3 --estimate annealed --inner 11 "
        "--runs 10 --reach 9 --iterations 12 --burn-in 13 --sampler sparse --z-start pilot --alpha 0.4 --eta 0.7 "
        "--workers 14",
        {"prior": Prior(0.4, 0.7), "topic_prior": TopicPrior(2, 77, "poisson", 3.0), "starts": [4, 6], "inner": 11}
        | {"runs": 10, "reach": 9, "estimate": "annealed", "iterations": 12, "burn_in": 13, "sampler": "sparse"}
        | {"z_start": "pilot", "method": "pmmh", "hyper": "sampled", "workers": 14},
    ),
    "hyper": (
        "--topics 3 --method tempering --alpha-range 0.1,0.2 --eta-range 0.3,0.4 --grid 5x6 --search iterative-grid "
        "--sweeps 1100 --chains 12 --precision 0.2 --integrate --asymmetric --sampler sparse --workers 14",
        {
            "topics": 3,
            "method": "tempering",
            "precision": 0.2,
            "integrate": True,
            "asymmetric": True,
            "alpha_range": (0.1, 0.2),
            "eta_range": (0.3, 0.4),
            "grid": (5, 6),
        }
        | {"search": "iterative-grid", "sweeps": 1100, "chains": 12, "sampler": "sparse", "workers": 14},
    ),
    "select": (
        "--min 2 --max 5 --prior poisson:3 --sweeps 1100 --burn-in 12 --chains 15 --workers 14",
        {"topics": TopicPrior(2, 5, "poisson", 3.0), "iterations": 1100, "burn_in": 12, "chains": 15, "workers": 14}
        | {"budget": None},
    ),
    "infer": (
        "--fit found --sweeps 11 --burn-in 12 --workers 14",
        {"fit": Path("found"), "sweeps": 11, "burn_in": 12, "workers": 14},
    ),
    "hdp": (
        "--model hdp --method split-merge --variant paper --moves 3 --sampler blocked --eta 0.7 --gamma 0.8 "
        "--concentration 0.9 --resample --sweeps 11 --burn-in 12 --batch-size 16 --heldout 0.25 --chains 13 "
        "--workers 14",
        {"model": "hdp", "method": "split-merge", "variant": "paper", "moves": 3, "sampler": "blocked", "eta": 0.7}
        | {"gamma": 0.8, "concentration": 0.9, "resample": True, "sweeps": 11, "burn_in": 12, "batch_size": 16}
        | {"heldout": 0.25, "chains": 13, "workers": 14, "births": None, "first_pass": None},
    ),
    "score": (
        MODEL + "--method leave-one-out --heldout 0.25 --documents 0,1 --thin 15 --estimator left-to-right --chains 18 "
        "--forget 19 --steps 20 --tolerance 0.3 --particles 16 --beta drawn --warm-up 17 --workers 14",
        {"topics": 3, "prior": Prior((0.4, 0.5, 0.6), 0.7), "sampler": "sparse", "sweeps": 11, "burn_in": 12}
        | {"method": "leave-one-out", "heldout": 0.25, "documents": [0, 1], "thin": 15, "particles": 16}
        | {"estimator": "left-to-right", "chains": 18, "forget": 19, "steps": 20, "tolerance": 0.3}
        | {"beta": "drawn", "warm_up": 17, "workers": 14},
    ),
}


class Called(Exception):
    """Nothing is computed: what the function is given is all that counts."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_corpus(Corpus.from_sparse([[2, 1], [0, 3]]), tmp_path / "x.ldac")
    return tmp_path / "x.ldac"


def test_every_command_is_tried() -> None:
    """Guards a command that is left out here, and an option that is."""
    assert sorted(GIVEN) == sorted(command.NAME for command in COMMANDS)
    for name, (words, _) in GIVEN.items():
        parser = build_parser()._subparsers._group_actions[0].choices[name]  # type: ignore[union-attr]
        own = {action.option_strings[-1] for action in parser._actions if action.option_strings}
        common = "--help --json --out --overwrite --track --seed --report"
        texts = "--terms --stop-words --min-documents --max-fraction --text-column --header --min-count --ngrams "
        texts += "--token-pattern --encoding"
        left = own - set(f"{common} {texts}".split()) - set(words.split())
        # of `select`, one stands for --min and --max, and the other for --iterations (tests/test_cli_select.py); those
        # of `hdp` are for another method (tests/test_cli_hdp.py)
        assert left <= {"--topics", "--budget", "--cluster", "--births", "--first-pass"}, name


def test_a_cluster_is_around_the_function(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the function is to use workers, however few the cluster has."""
    seen: list[Any] = []

    @contextmanager
    def cluster_at(address: str | None) -> Iterator[None]:
        monkeypatch.setattr("bayestopics.base.cluster._current", SimpleNamespace(workers=1))
        seen.append(address)
        yield

    def called(*passed: Any, workers: int, **named: Any) -> None:
        seen.append(workers)
        raise Called

    monkeypatch.setattr("bayestopics.base.cluster.using_cluster", cluster_at)
    monkeypatch.setattr(api, "fit", called)
    with pytest.raises(Called):
        main(["fit", str(path), "--cluster", "tcp://x:1"])
    assert seen == ["tcp://x:1", 2]


@pytest.mark.parametrize("command", GIVEN)
def test_options_reach_the_function(command: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards sweeps for burn-in, alpha for eta, and an option that is forgotten."""
    words, expected = GIVEN[command]
    function = "topic_posterior" if command == "topics" else command
    signature = inspect.signature(getattr(api, function))
    given: dict[str, Any] = {}

    def called(*passed: Any, **named: Any) -> None:
        given.update(signature.bind(*passed, **named).arguments)
        raise Called

    monkeypatch.setattr(api, function, called)
    with pytest.raises(Called):
        main([command, str(path), *words.split(), "--seed", "91", "--out", str(tmp_path / "out"), "--overwrite"])
    given.update(given.pop("settings", {}))
    del given["corpus"]
    assert given == expected | PLACE | {"out": tmp_path / "out"}


def test_options_of_reading_reach_the_reader(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards two thresholds of the texts in each other's place."""
    from bayestopics.cli import reading

    given: dict[str, Any] = {}

    def called(where: Path, **named: Any) -> None:
        given.update(named, where=where)
        raise Called

    monkeypatch.setattr(reading, "read_corpus", called)
    words = "--text-column body --header no --terms 5 --stop-words none --min-documents 2 --max-fraction 0.5 "
    words += "--min-count 3 --ngrams 1-2 --token-pattern x+ --encoding latin-1"
    with pytest.raises(Called):
        main(["corpus", "info", str(path), *words.split()])
    pruning = Pruning("none", 2, 0.5, 3, "x+", (1, 2))
    columns = {"text_column": "body", "header": False}
    assert given == {"where": path, "terms": 5, "pruning": pruning, "encoding": "latin-1"} | columns


# -- from the function to the task -------------------------------------------------------------------------

CORPUS = Corpus.from_sparse([[2, 1], [0, 3], [1, 1]])
SCORE = {"topics": 3, "method": "leave-one-out", "sampler": "sparse", "sweeps": 11, "burn_in": 12, "thin": 15}
BRIDGE = {"estimator": "bridge", "chains": 24, "forget": 19, "steps": 20, "tolerance": 0.3}
LEFT_TO_RIGHT = {"estimator": "left-to-right", "particles": 16, "beta": "drawn", "warm_up": 17}
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "fit": (
        {"topics": 3, "prior": Prior(0.4, 0.7), "sampler": "sparse", "sweeps": 11, "burn_in": 12, "chains": 13},
        {"topics": 3, "alpha": 0.4, "eta": 0.7, "sampler": "sparse", "sweeps": 11, "burn_in": 12, "chains": 13},
    ),
    "evidence": (
        {"topics": [4, 2, 4], "prior": Prior(0.4, 0.7), "method": "annealing", "path": "smc"}
        | {"sweeps": 11, "passes": 12, "repeats": 13},
        {"topics": [4, 2], "alpha": 0.4, "eta": 0.7, "method": "annealing", "path": "smc"}
        | {"sweeps": 11, "passes": 12, "repeats": 13},
    ),
    "topic_posterior": (
        {"prior": Prior(0.4, 0.7), "topic_prior": TopicPrior(2, 77), "starts": [4, 6], "inner": 11}
        | {"iterations": 12, "burn_in": 13, "sampler": "sparse", "z_start": "pilot", "method": "pmmh"},
        {"alpha": 0.4, "eta": 0.7, "starts": [4, 6], "inner": 11, "iterations": 12, "burn_in": 13, "reach": 1}
        | {"estimate": "gibbs", "sampler": "sparse", "z_start": "pilot"},
    ),
    "topic_posterior by jumps": (
        {"prior": Prior(0.4, 0.7), "topic_prior": TopicPrior(2, 77), "starts": [4, 6], "iterations": 12, "burn_in": 13},
        {"alpha": 0.4, "eta": 0.7, "starts": [4, 6], "iterations": 12, "burn_in": 13},
    ),
    "hyper": (
        {"topics": 3, "alpha_range": (0.1, 0.2), "eta_range": (0.3, 0.4), "grid": (5, 6), "sweeps": 1100}
        | {"search": "iterative-grid", "chains": 12, "sampler": "sparse", "precision": 0.2},
        {
            "topics": 3,
            "method": "tempering",
            "precision": 0.2,
            "alphas": (0.1, 0.2),
            "etas": (0.3, 0.4),
            "shape": (5, 6),
        }
        | {"sweeps": 1100, "search": "iterative-grid", "chains": 12, "sampler": "sparse"},
    ),
    "select": (
        {"topics": [3, 2, 4, 3], "iterations": 1100, "burn_in": 12, "chains": 15},
        {"topics": {"low": 2, "high": 4, "kind": "uniform", "parameter": None}}
        | {"iterations": 1100, "burn_in": 12, "chains": 15},
    ),
    "hdp": (
        {"method": "split-merge", "moves": 3, "eta": 0.7, "gamma": 0.8, "concentration": 0.9, "sweeps": 11}
        | {"burn_in": 12, "batch_size": 16, "chains": 13},
        {"method": "split-merge", "moves": 3, "eta": 0.7, "gamma": 0.8, "concentration": 0.9, "sweeps": 11}
        | {"burn_in": 12, "batch_size": 16, "chains": 13, "model": "hdp"},
    ),
    "score": (
        SCORE | {"prior": Prior(0.4, 0.7), "documents": np.array([0, 2])} | BRIDGE,
        SCORE | {"alpha": 0.4, "eta": 0.7, "documents": [0, 2]} | BRIDGE,
    ),
    "score, left-to-right": (SCORE | LEFT_TO_RIGHT, SCORE | LEFT_TO_RIGHT),
}


@pytest.mark.parametrize("function", CALLS)
def test_arguments_reach_the_task(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards arguments in each other's place on the way to a task, its seed, its corpus and its folder."""
    passed, expected = CALLS[function]
    function = function.partition(" ")[0]
    given: dict[str, Any] = {}

    def run(task: Task, compute: Any, corpus: Corpus, **place: Any) -> Result:
        given.update(place, task=task, corpus=corpus, workers=compute.keywords["workers"])
        raise Called

    monkeypatch.setattr(driver, "run", run)
    with pytest.raises(Called):
        getattr(api, function.split(",")[0])(CORPUS, **passed, seed=91, workers=2, out=str(tmp_path), overwrite=True)
    task = given.pop("task")
    assert given == {"corpus": CORPUS, "workers": 2, "out": tmp_path, "overwrite": True}
    assert (task.seed, task.scale, task.fingerprint) == (91, "own", CORPUS.fingerprint)
    assert {name: task.params[name] for name in expected} == expected
    if function == "topic_posterior":
        assert (task.params["topics"]["low"], task.params["topics"]["high"]) == (2, 77)


def test_work_that_a_method_does_not_know_is_no_part_of_its_task() -> None:
    """Guards two records of the same computation that are taken for different ones."""
    from bayestopics.evidence.pmmh import Walk
    from bayestopics.runs import hyper, score, topic_posterior

    recipe = topic_posterior.recipe("annealed", None, None, "sparse", "pilot")
    walk = topic_posterior.task_of(CORPUS, Prior(), Walk(TopicPrior(1, 9), (2,)), recipe, seed=1)
    assert not {"sampler", "z_start"} & walk.params.keys()
    assert [walk.params[name] for name in ("estimate", "inner", "runs")] == ["annealed", 1000, 4]
    gibbs = topic_posterior.recipe("gibbs", None, None, "sparse", "pilot").settings()
    assert gibbs["inner"] == 50
    assert "runs" not in gibbs
    with pytest.raises(InputError, match="for the estimate annealed"):
        topic_posterior.recipe("gibbs", None, 2, "sparse", "pilot")
    with pytest.raises(InputError, match="choose from gibbs, annealed"):
        topic_posterior.recipe("exact", None, None, "sparse", "pilot")
    how = {"alphas": None, "etas": None, "shape": None, "sampler": "sparse", "search": "pilot", "chains": 4}
    em = hyper.task_of(CORPUS, 3, method="gibbs-em", sweeps=None, seed=1, **how)
    assert not {"search", "chains"} & em.params.keys()
    assert em.params["sweeps"] == hyper.METHODS["gibbs-em"]
    one = hyper.task_of(CORPUS, 3, method="score", sweeps=None, seed=1, **how)
    assert not {"search", "asymmetric"} & one.params.keys()
    assert one.params["chains"] == 4
    assert hyper.task_of(CORPUS, 3, method="score", sweeps=None, seed=1, **how, asymmetric=True).params["asymmetric"]
    work = {"sweeps": 1, "burn_in": 0, "heldout": 0.2, "documents": 3, "thin": 1, "particles": 1, "beta": "drawn"}
    one = score.task_of(CORPUS, [3], Prior(), method="completion", sampler="sparse", seed=1, **work, warm_up=0)
    assert not {"documents", "thin", "particles", "beta", "warm_up"} & one.params.keys()
    assert one.params["heldout"] == 0.2


def test_hdp_keeps_the_defaults_of_its_settings() -> None:
    """Guards numbers of sweeps and moves that a record does not know."""
    from bayestopics.runs import hdp

    task = hdp.task_of(CORPUS, HdpSettings(method="split-merge"), 2, 5)
    assert task.params["sweeps"] == HdpSettings(method="split-merge").work
    assert task.params["moves"] == HdpSettings(method="split-merge").moves_a_sweep
    assert (task.seed, task.params["chains"], task.name) == (5, 2, "hdp/split-merge")


# -- types of values, and how a command ends -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (arguments.counts, "1-3", [1, 2, 3]),
        (arguments.counts, "5,10,2-3", [5, 10, 2, 3]),
        (arguments.alpha, "0.5", 0.5),
        (arguments.alpha, "0.5,2", (0.5, 2.0)),
        (arguments.interval, "0.1,2", (0.1, 2.0)),
        (arguments.shape, "9x11", (9, 11)),
        (arguments.share, "1", 1.0),
        (arguments.documents, "all", None),
        (arguments.documents, "7", 7),
        (arguments.documents, "0,7,9", [0, 7, 9]),
        (arguments.documents, "7,", [7]),
    ],
)
def test_values_of_options(read: Any, text: str, expected: Any) -> None:
    """Guards ends of a range, and sides in the wrong order."""
    assert read(text) == expected


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("bad"), 2),
        (OSError(28, "No space left on device", "x"), 2),
        (MemoryError("large"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(error: BaseException, code: int, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Guards a failure that ends with 0, or an interruption that looks like bad input."""

    def failing(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(api, "fit", failing)
    assert main(["fit", str(path)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1


def test_json_has_null_for_what_is_not_known(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Guards NaN in JSON, and a result that is printed for people though JSON was asked for."""

    class Found:
        def summary(self) -> dict[str, Any]:
            return {"a": np.float64("nan"), "b": [np.inf, 1], "warnings": []}

        def text(self) -> str:
            return "for people"

    monkeypatch.setattr(api, "fit", lambda *_, **__: Found())
    assert main(["fit", str(path), "--json"]) == 0

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(capsys.readouterr().out, parse_constant=refuse) == {"a": None, "b": [None, 1], "warnings": []}
    assert main(["fit", str(path)]) == 0
    assert capsys.readouterr().out == "for people\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fit {path} --topisc 5", "unknown option --topisc; did you mean --topics?"),
        ("corpus info --encodng=latin-1 {path}", "unknown option --encodng; did you mean --encoding?"),
        ("evidance {path}", "; did you mean evidence?"),
        ("hyper {path} --method temperng", "; did you mean tempering?"),
        ("fit whals", "no registered corpus of that name; did you mean whales?"),
        ("fit {path} --nothing-like-it", "unknown option --nothing-like-it (see"),
    ],
)
def test_a_misspelt_word_gets_the_nearest_one(path: Path, words: str, said: str, capsys: Any) -> None:
    assert main(words.format(path=path).split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
