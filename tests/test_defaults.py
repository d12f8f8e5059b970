"""A command without options does what the Python function does without arguments."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bayestopics import api
from bayestopics.cli.main import COMMANDS, build_parser, main
from bayestopics.cli.reading import pruning_of
from bayestopics.corpus import Corpus, Pruning, write_corpus
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.nonparametric.compute import HdpSettings

FUNCTIONS = {command.NAME: command.NAME for command in COMMANDS} | {"topics": "topic_posterior"}
# what the documentation of the functions says that None stands for
SPELLED_OUT: dict[str, dict[str, Any]] = {
    "topic_posterior": {"topic_prior": TopicPrior(1, 100)},
    "select": {"topics": TopicPrior(1, 2)},  # 2 is the square root of 6 tokens
    "hdp": asdict(HdpSettings()),
}
NEEDED = {"infer": ["--fit", "x"]}  # options without a default


class Called(Exception):
    """Nothing is computed: what the function is given is all that counts."""


def defaults(signature: inspect.Signature) -> dict[str, Any]:
    return {name: given.default for name, given in signature.parameters.items() if given.default is not given.empty}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_commands(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function = FUNCTIONS[command]
    signature = inspect.signature(getattr(api, function))
    given: dict[str, Any] = {}

    def called(*arguments: Any, **named: Any) -> None:
        given.update(signature.bind(*arguments, **named).arguments)
        raise Called

    monkeypatch.setattr(api, function, called)
    write_corpus(Corpus.from_sparse([[2, 1], [0, 3]]), tmp_path / "x.ldac")
    with pytest.raises(Called):
        main([command, str(tmp_path / "x.ldac"), *NEEDED.get(command, [])])
    given.update(given.pop("settings", {}))
    expected = defaults(signature) | SPELLED_OUT.get(function, {})
    if "prior" in expected:
        expected["prior"] = Prior()
    if isinstance(expected.get("topics"), tuple):
        expected["topics"] = list(expected["topics"])
    for mapping in (given, expected):
        del mapping["workers"]  # a command takes all cores
    for name in ("corpus", *(option.removeprefix("--") for option in NEEDED.get(command, [])[::2])):
        del given[name]
    assert given == expected


def test_simulate() -> None:
    options = vars(build_parser().parse_args(["corpus", "simulate", "--out", "x.ldac"]))
    expected = defaults(inspect.signature(api.simulate))
    assert {name: options[name] for name in expected} == expected


def test_reading() -> None:
    options = build_parser().parse_args(["corpus", "info", "x.ldac"])
    assert pruning_of(options) == Pruning()
