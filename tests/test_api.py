"""One road for all: what every function of `bayestopics.api` returns, keeps and shows."""

from __future__ import annotations

import dataclasses
import doctest
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import arviz
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import bayestopics
from bayestopics import api
from bayestopics.base.plain import canonical, without_nan
from bayestopics.base.problems import InputError
from bayestopics.base.wording import show_warnings
from bayestopics.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.runs import driver, infer_result, kinds, score_result, select_result
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.record import read, same_bits
from bayestopics.runs.result import Result
from killing import Killed

SIMULATED = simulate_lda(documents=20, length=12, terms=9, topics=2, alpha=0.3, eta=0.3, rng=np.random.default_rng(4))
# an empty document, for a warning; words and a name that must be escaped in a page
CORPUS = Corpus.from_sparse(
    np.vstack([SIMULATED.corpus.counts.toarray(), np.zeros((1, 9), int)]),
    tuple(f"<b>{term}&" for term in "abcdefghi"),
    name="a<script>.ldac",
)


@dataclasses.dataclass(frozen=True)
class Way:
    """A function and a short piece of work for it."""

    function: Callable[..., kinds.CommandResult]
    kind: type[kinds.CommandResult]
    options: dict[str, Any]
    chains: str = ""  # a variable of its chains, where it has any
    count: int = 2  # of its chains


FULL_BAYES = {"topics": 2, "sweeps": 150, "method": "full-bayes"}
EM = {"topics": 2, "sweeps": 20}
TEMPERING = {"topics": 2, "sweeps": 150, "chains": 2, "method": "tempering"}
SCORES = {"topics": 2, "sweeps": 100, "chains": 2}
SELECT = {"topics": [1, 2, 3], "iterations": 40, "burn_in": 20, "chains": 2}
JUMP = {"topic_prior": TopicPrior(1, 4), "starts": [1, 4], "iterations": 40, "burn_in": 10}
HDP = {"sweeps": 8, "burn_in": 3, "chains": 2, "heldout": 0.2}
SCORE = {"topics": 2, "sweeps": 12, "burn_in": 3}
WAYS = {
    "fit": Way(api.fit, FitResult, {"topics": 2, "sweeps": 8, "burn_in": 3, "chains": 2}, "log_joint"),
    "infer": Way(api.infer, infer_result.InferResult, {"sweeps": 3, "burn_in": 2}),
    "evidence": Way(api.evidence, kinds.EvidenceResult, {"topics": [1, 2, 3], "sweeps": 8, "passes": 1, "repeats": 2}),
    "topic_posterior": Way(api.topic_posterior, kinds.TopicPosteriorResult, JUMP, "topics"),
    "topic_posterior pmmh": Way(
        api.topic_posterior, kinds.TopicPosteriorResult, JUMP | {"method": "pmmh", "inner": 3}, "topics"
    ),
    "hyper": Way(api.hyper, kinds.HyperResult, SCORES, "score_alpha"),
    "hyper tempering": Way(api.hyper, kinds.HyperResult, TEMPERING, "alpha"),
    "hyper gibbs-em": Way(api.hyper, kinds.HyperResult, EM | {"method": "gibbs-em"}),
    "hyper variational-em": Way(api.hyper, kinds.HyperResult, EM | {"method": "variational-em"}),
    "hyper full-bayes": Way(api.hyper, kinds.HyperResult, FULL_BAYES, "eta", 1),
    "select": Way(api.select, select_result.SelectResult, SELECT, "alpha"),
    "hdp": Way(api.hdp, kinds.HdpResult, HDP, "topics"),
    "hdp truncated": Way(api.hdp, kinds.HdpResult, HDP | {"method": "truncated", "batch_size": 6}),
    "score": Way(api.score, score_result.ScoreResult, SCORE | {"heldout": 0.3}),
    "score by topics": Way(api.score, score_result.ScoreResult, SCORE | {"heldout": 0.3, "topics": [2, 3]}),
    "score leave-one-out": Way(
        api.score, score_result.ScoreResult, SCORE | {"method": "leave-one-out", "documents": 4}
    ),
}


@cache
def fitted() -> FitResult:
    """The fit that `infer` is given."""
    return api.fit(CORPUS, **WAYS["fit"].options)


def call(name: str, corpus: Corpus = CORPUS, **changes: Any) -> kinds.CommandResult:
    way = WAYS[name]
    given = {"fit": fitted()} if way.function is api.infer else {}
    return way.function(corpus, **{"seed": 3, **given, **way.options, **changes})


@pytest.fixture(scope="module", params=WAYS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def result(name: str) -> kinds.CommandResult:
    return call(name)


def test_every_function_is_here() -> None:
    functions = {name for name in bayestopics.__all__ if getattr(bayestopics, name).__module__ == "bayestopics.api"}
    assert {name.partition(" ")[0] for name in WAYS} == functions - {"simulate"}


# -- the result ------------------------------------------------------------------------------------------


def test_a_frozen_result_of_its_kind(name: str, result: kinds.CommandResult) -> None:
    assert type(result) is WAYS[name].kind
    for field in dataclasses.fields(Result):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field.name, None)
    assert result.task.fingerprint == CORPUS.fingerprint
    assert result.task.seed == 3
    assert result.metrics
    assert all(isinstance(value, int | float | np.number) for value in result.metrics.values())
    assert {"finished", "wall_seconds", "cpu_seconds", "peak_memory_mb", "resumed"} <= set(result.volatile)


def test_the_summary_is_plain(name: str, result: kinds.CommandResult) -> None:
    summary = result.summary()
    assert list(summary)[-1] == "warnings"
    assert all(isinstance(warning, str) for warning in summary["warnings"])
    text = json.dumps(without_nan(summary), allow_nan=False)
    assert without_nan(json.loads(text)) == without_nan(summary)
    assert json.loads(json.dumps(summary))  # nothing of numpy's in it


def test_saved_and_read_it_is_the_same(name: str, result: kinds.CommandResult, tmp_path: Path) -> None:
    result.save(tmp_path / "record")
    result.save(tmp_path / "record")  # it is there already
    for back in (WAYS[name].kind.load(tmp_path / "record"), kinds.CommandResult.load(str(tmp_path / "record"))):
        assert type(back) is type(result)
        assert same_bits(back, result)
        assert canonical(back.summary()) == canonical(result.summary())
        assert list(back.summary()) == list(result.summary())
        assert back.text() == result.text()
        assert back._repr_html_() == result._repr_html_()
    other = score_result.ScoreResult if WAYS[name].kind is FitResult else FitResult
    with pytest.raises(InputError, match=f"not a {other.__name__}"):
        other.load(tmp_path / "record")


def test_it_is_shown(name: str, result: kinds.CommandResult) -> None:
    assert str(result) == result.text()
    assert result.text() in repr(result)
    assert not any(line != line.rstrip() for line in result.text().splitlines())
    page = result._repr_html_()
    assert "a&lt;script&gt;.ldac" in page
    assert "<script>" not in page
    assert "<b>" not in page
    assert all(line in result.text() for line in show_warnings(result.warnings))


def test_it_is_drawn(name: str, result: kinds.CommandResult) -> None:
    before = plt.get_fignums()
    more = [result.plot_chains(), result.plot_hyper()] if isinstance(result, select_result.SelectResult) else []
    for figure in [result.plot(), *more]:
        assert isinstance(figure, Figure)
        figure.canvas.draw()
        assert all(axes.get_xlabel() for axes in figure.axes[:1])
        plt.close(figure)
    assert plt.get_fignums() == before


def test_chains_go_to_arviz(name: str, result: kinds.CommandResult) -> None:
    variable = WAYS[name].chains
    if variable:
        data = result.to_arviz()  # type: ignore[attr-defined]
        assert isinstance(data, arviz.InferenceData)
        assert data.posterior.sizes["chain"] == WAYS[name].count
        assert variable in data.posterior
        assert data.posterior.attrs["fingerprint"] == CORPUS.fingerprint
    elif hasattr(result, "to_arviz"):
        with pytest.raises(InputError, match="has no chains"):
            result.to_arviz()


# -- the same bits ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("workers_here")
def test_the_seed_alone_decides(name: str, result: kinds.CommandResult) -> None:
    assert same_bits(call(name), result)
    assert same_bits(call(name, workers=2), result)
    other = call(name, seed=4)
    assert other.task.identity != result.task.identity
    assert not all(
        other.tables[table].equals(result.tables[table]) for table in result.tables if table != "timing"
    ) or canonical(other.answer) != canonical(result.answer)


# -- the record ------------------------------------------------------------------------------------------


def test_a_finished_run_is_not_computed_again(
    name: str, result: kinds.CommandResult, tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, calls = tmp_path / "out", []
    run = driver.run

    def counting(task: Any, compute: Any, *rest: Any, **more: Any) -> Result:
        return run(task, lambda *given: (calls.append(1), compute(*given))[1], *rest, **more)

    monkeypatch.setattr(driver, "run", counting)
    first = call(name, out=out)
    again = call(name, out=str(out), workers=2)
    assert len(calls) == 1
    assert same_bits(again, first)
    assert same_bits(again, result)
    assert again.volatile == json.loads(json.dumps(without_nan(first.volatile)))
    assert again.text() == first.text()
    call(name, out=out, overwrite=True)
    assert len(calls) == 2
    assert not list(checkpoints.iterdir())
    # another task
    with pytest.raises(InputError, match=f"--out {out}: holds a different finished run; --overwrite replaces it"):
        call(name, out=out, seed=4)
    assert len(calls) == 2
    assert same_bits(read(out), result)
    call(name, out=out, seed=4, overwrite=True)
    assert read(out).task.seed == 4


def test_what_is_no_record_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    for overwrite in (False, True):
        with pytest.raises(InputError, match="exists and is not a run record"):
            call("fit", out=tmp_path / "mine", overwrite=overwrite)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_different_run_is_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("fit", out=tmp_path / "out")

    def computed(*_: Any, **__: Any) -> None:
        raise Killed

    monkeypatch.setattr("bayestopics.runs.fit.compute", computed)
    with pytest.raises(InputError, match="holds a different finished run"):
        call("fit", out=tmp_path / "out", sweeps=9)
    with pytest.raises(Killed):
        call("fit", out=tmp_path / "out", sweeps=9, overwrite=True)
    assert read(tmp_path / "out").task.params["sweeps"] == 8  # it stays until the other one is there


def test_a_record_that_cannot_be_written(tmp_path: Path, checkpoints: Path) -> None:
    """The result comes with the error, and the checkpoint stays."""
    (tmp_path / "file").touch()
    with pytest.raises(driver.NotKept, match="the record could not be written") as caught:
        call("fit", out=tmp_path / "file" / "out")
    assert isinstance(caught.value.result, FitResult)
    assert len(list(checkpoints.glob("*/*.state"))) == 2
    assert same_bits(call("fit"), caught.value.result)
    assert not list(checkpoints.iterdir())


# -- the package -----------------------------------------------------------------------------------------


def test_the_public_names() -> None:
    assert dir(bayestopics) == sorted(bayestopics.__all__)
    for name in bayestopics.__all__:
        assert callable(getattr(bayestopics, name))
    with pytest.raises(AttributeError, match="no attribute 'topics'"):
        bayestopics.topics  # noqa: B018


NAMES_FIRST = "from bayestopics import evidence, hyper; import bayestopics.evidence.compute, bayestopics.hyper.compute"
PACKAGES_FIRST = "import bayestopics.hyper.compute, bayestopics.evidence; from bayestopics import evidence, hyper"
CHECK = """
import bayestopics, inspect
for name, one in {"evidence": evidence, "hyper": hyper}.items():
    assert inspect.isfunction(one) and one is getattr(bayestopics, name), name
from bayestopics.evidence import METHODS
from bayestopics.evidence import compute
from bayestopics.hyper import compute as other
assert inspect.ismodule(compute) and inspect.ismodule(other) and compute is not other
"""


@pytest.mark.parametrize("first", [NAMES_FIRST, PACKAGES_FIRST])
def test_functions_and_the_packages_of_their_names(first: str) -> None:
    subprocess.run([sys.executable, "-c", f"{first}\n{CHECK}"], check=True)


def test_importing_the_package_imports_nothing_large() -> None:
    program = "import sys, bayestopics; print([name for name in ('numpy', 'numba', 'pandas') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout == "[]\n"


WITHOUT_EXAMPLE = ("InputError", "Result")  # one is raised, the other returned, in the examples of the others


@pytest.mark.parametrize("name", bayestopics.__all__)
def test_the_examples_in_the_documentation(name: str) -> None:
    runner = doctest.DocTestRunner()
    for example in doctest.DocTestFinder().find(getattr(bayestopics, name), name):
        runner.run(example)
    assert (runner.tries > 0) == (name not in WITHOUT_EXAMPLE)
    assert runner.failures == 0
