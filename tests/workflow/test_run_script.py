"""workflow/scripts/run.py without Snakemake: which task a run is, what it builds on, and when it is computed again."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bayestopics.corpus import Corpus, write_corpus
from bayestopics.runs.record import read, write
from bayestopics.runs.result import Result
from made_up import record

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("run_script", SCRIPTS / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def calls(script: Any, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the study's function is given."""
    given: list[dict[str, Any]] = []

    def compute(task: Any, corpus: Any, checkpoint: Any, **more: Any) -> Result:
        given.append({"task": task, "corpus": corpus, **more})
        return Result(task, {"calls": len(given)})

    def module(name: str) -> Any:
        assert name == "bayestopics.studies.blocking.compute_chain"
        return SimpleNamespace(compute=compute)

    monkeypatch.setattr(script, "import_module", module)
    return given


def definition(folder: Path, **changes: Any) -> dict[str, Any]:
    content = {"corpus": None, "before": [], "params": {"kind": "chain", "topics": 3}, "code": "c0de"}
    return content | {"record": str(folder / "out")} | changes


def result_of(script: Any, folder: Path, seed: int = 7, **changes: Any) -> Result:
    params = SimpleNamespace(scale="smoke", seed=seed, checkpoints=str(folder / "checkpoints"))
    found: Result = script.result_of("one", definition(folder, **changes), "blocking", params)
    return found


def test_a_task_has_its_scale_seed_code_and_corpus(script: Any, calls: list[Any], tmp_path: Path) -> None:
    """Guards a task that forgets what it is."""
    corpus = Corpus.from_sparse([[2, 1], [0, 3]])
    write_corpus(corpus, tmp_path / "x.npz")
    task = result_of(script, tmp_path, corpus=str(tmp_path / "x.npz")).task
    assert (task.study, task.scale, task.name, task.seed, task.code) == ("blocking", "smoke", "one", 7, "c0de")
    assert task.params == {"kind": "chain", "topics": 3}
    assert task.fingerprint == corpus.fingerprint == calls[0]["corpus"].fingerprint
    assert "before" not in calls[0]


def test_what_a_run_builds_on_is_given_and_part_of_its_identity(script: Any, calls: list[Any], tmp_path: Path) -> None:
    """Guards a record that stays though what it builds on has changed."""
    identities = set()
    for seed in (1, 2):
        before = record("chain", "before")
        object.__setattr__(before.task, "seed", seed)
        write(before, tmp_path / "before")
        found = result_of(script, tmp_path, before=[str(tmp_path / "before")])
        assert [one.task.seed for one in calls[-1]["before"]] == [seed]
        assert found.task.params["before"] == [before.task.identity]
        identities.add(found.task.identity)
    assert len(identities) == 2


def test_a_finished_record_is_read_and_any_other_is_replaced(script: Any, calls: list[Any], tmp_path: Path) -> None:
    """Guards a run that is computed again, and one of another seed, code or settings that is not."""
    result_of(script, tmp_path)
    result_of(script, tmp_path)
    assert len(calls) == 1
    for number, changes in enumerate(({"seed": 8}, {"code": "new"}, {"params": {"kind": "chain", "topics": 4}}), 2):
        result_of(script, tmp_path, **changes)
        assert len(calls) == number
        assert read(tmp_path / "out").metrics == {"calls": number}


def test_a_record_that_cannot_be_read_is_computed_again(script: Any, calls: list[Any], tmp_path: Path) -> None:
    """Guards a damaged record that stops the workflow."""
    result_of(script, tmp_path)
    (tmp_path / "out" / "run.json").write_text("{")
    result_of(script, tmp_path)
    assert len(calls) == 2
