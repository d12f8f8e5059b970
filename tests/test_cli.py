"""The command line: what it prints and writes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayestopics import __version__
from bayestopics.api import within
from bayestopics.cli.main import main
from bayestopics.corpus import Corpus, read_corpus, write_corpus
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.runs.record import read as read_record
from bayestopics.runs.record import same_bits
from pmmh_oracle import pmmh

INFO_KEYS = ["documents", "terms", "tokens", "nonzeros", "empty_documents", "fingerprint"]
COMMAND = [sys.executable, "-m", "bayestopics.cli"]
Capture = pytest.CaptureFixture[str]


def answer(capsys: Capture, *arguments: object) -> Any:
    """The JSON object that a command prints; null stands for NaN and Infinity."""
    code = main([*map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    return json.loads(out, parse_constant=refuse)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, hidden files too."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpora") / "tiny.ldac"
    size = ["--documents", "12", "--length", "15", "--terms", "8", "--topics", "2"]
    assert main(["corpus", "simulate", *size, "--seed", "3", "--out", str(path)]) == 0
    return path


# -- good input ------------------------------------------------------------------------------------

DENSE = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])
CORPUS = Corpus.from_sparse(DENSE, ("ant", "bee", "cow"))


def write_texts(path: Path) -> None:
    path.mkdir()
    for name, text in {"1": "Cow ant, ant", "2": "-", "3": "bee bee BEE"}.items():
        (path / name).write_text(text)


WRITERS: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys(
        ("x.ldac", "docword.x.txt", "docword.x.txt.gz", "x.mtx", "x.npz"), lambda p: write_corpus(CORPUS, p)
    ),
    "x.tsv": lambda path: path.write_text("Cow ant, ant\n-\nbee bee BEE\n") and None,
    "texts": write_texts,
}


@pytest.mark.parametrize("name", WRITERS)
def test_info(tmp_path: Path, capsys: Capture, name: str) -> None:
    WRITERS[name](tmp_path / name)
    sizes = [3, 3, 6, 3, 1, CORPUS.fingerprint]
    assert list(answer(capsys, "corpus", "info", tmp_path / name).items()) == list(zip(INFO_KEYS, sizes, strict=True))
    assert main(["corpus", "info", str(tmp_path / name)]) == 0
    out, err = capsys.readouterr()
    assert CORPUS.fingerprint in out
    assert err == f"bayestopics: note: {tmp_path / name}: the corpus has empty documents, which are kept: 1\n"


@pytest.mark.parametrize("name", ["y.ldac", "docword.y.txt", "docword.y.txt.gz", "y.mtx", "y.npz"])
def test_convert(tmp_path: Path, capsys: Capture, name: str) -> None:
    write_corpus(CORPUS, tmp_path / "x.ldac")
    result = answer(capsys, "corpus", "convert", tmp_path / "x.ldac", tmp_path / "new" / name)
    assert list(result) == ["out", *INFO_KEYS]
    assert read_corpus(tmp_path / "new" / name).fingerprint == CORPUS.fingerprint == result["fingerprint"]


def test_texts_with_options(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x.tsv").write_bytes("über über the\nüber vier\n".encode("latin-1"))
    options = ["--encoding", "latin-1", "--stop-words", "none"]
    assert answer(capsys, "corpus", "info", tmp_path / "x.tsv", *options)["terms"] == 3
    assert answer(capsys, "corpus", "info", tmp_path / "x.tsv", *options, "--min-documents", 2)["tokens"] == 3
    assert answer(capsys, "corpus", "info", tmp_path / "x.tsv", *options, "--max-fraction", 0.5)["tokens"] == 2
    assert answer(capsys, "corpus", "info", tmp_path / "x.tsv", *options, "--min-count", 3)["tokens"] == 3


def test_simulate(tmp_path: Path, capsys: Capture) -> None:
    options = ["--documents", 7, "--length", 5, "--terms", 40, "--topics", 3, "--alpha", "0.1,0.2,0.3", "--eta", 0.5]
    first = answer(capsys, "corpus", "simulate", *options, "--seed", 1, "--out", tmp_path / "a" / "x.ldac")
    assert (first["documents"], first["terms"], first["tokens"]) == (7, 40, 35)
    assert sorted(tree(tmp_path / "a")) == ["x.ldac", "x.ldac.vocab", "x.truth.npz"]
    assert len((tmp_path / "a" / "x.ldac.vocab").read_text().splitlines()) == 40
    assert answer(capsys, "corpus", "info", tmp_path / "a" / "x.ldac")["fingerprint"] == first["fingerprint"]
    with np.load(tmp_path / "a" / "x.truth.npz") as truth:
        assert (truth["assignments"].shape, truth["beta"].shape, truth["theta"].shape) == ((35,), (3, 40), (7, 3))
        assert truth["alpha"].tolist() == [0.1, 0.2, 0.3]
    answer(capsys, "corpus", "simulate", *options, "--seed", 1, "--out", tmp_path / "b" / "x.ldac")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    other = answer(capsys, "corpus", "simulate", *options, "--seed", 2, "--out", tmp_path / "c" / "x.ldac")
    assert other["fingerprint"] != first["fingerprint"]


def test_list(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").mkdir()
    made = "made: {title: Made, generator: {kind: bars, seed: 1, documents: 3, length: 4}, expected: {tokens: 12}}\n"
    gone = "gone: {title: Gone, path: gone.ldac}\n"
    (tmp_path / "config" / "corpora.yaml").write_text(made + gone)
    monkeypatch.chdir(tmp_path)
    assert answer(capsys, "corpus", "list") == {
        "made": {"title": "Made", "where": "generated", "expected": {"tokens": 12}},
        "gone": {"title": "Gone", "where": None, "expected": {}},
    }
    assert answer(capsys, "corpus", "info", "made")["tokens"] == 12


# -- running samplers ------------------------------------------------------------------------------

SHORT = ["--topics", 2, "--sweeps", 6, "--burn-in", 3]


def test_fit(tiny: Path, tmp_path: Path, capsys: Capture) -> None:
    alone = [*SHORT, "--chains", 1]
    first = answer(capsys, "fit", tiny, *alone, "--seed", 5, "--out", tmp_path / "run")
    assert {"log_joint", "seconds", "tokens_per_second", "topics", "warnings"} <= set(first)
    assert len(first["log_joint"]) == 6
    assert all(value < 0 for value in first["log_joint"])
    assert sorted(topic["topic"] for topic in first["topics"]) == [0, 1]
    record = read_record(tmp_path / "run")
    assert record.trace["log_joint"].tolist()[3:] == first["log_joint"]
    assert record.task.fingerprint == read_corpus(tiny).fingerprint
    assert list(tmp_path.iterdir()) == [tmp_path / "run"]
    assert answer(capsys, "fit", tiny, *alone, "--seed", 5)["log_joint"] == first["log_joint"]
    assert answer(capsys, "fit", tiny, *alone, "--seed", 6)["log_joint"] != first["log_joint"]
    answer(capsys, "fit", tiny, *alone, "--seed", 6, "--out", tmp_path / "run", "--overwrite")
    assert read_record(tmp_path / "run").task.seed == 6


def test_fit_with_chains_and_a_list_of_alphas(tiny: Path, capsys: Capture) -> None:
    chains = answer(capsys, "fit", tiny, *SHORT, "--chains", 2, "--workers", 1, "--alpha", "0.5,0.25")["log_joint"]
    assert [len(chain) for chain in chains] == [6, 6]
    assert chains[0] != chains[1]
    assert answer(capsys, "fit", tiny, *SHORT, "--chains", 1, "--alpha", "0.5,0.25")["log_joint"] == chains[0]


def test_fit_with_workers(tiny: Path, tmp_path: Path, capsys: Capture) -> None:
    """The number of processes changes no bit, nor does a terminal that is not there show anything."""
    for workers in (1, 2):
        out = tmp_path / str(workers)
        result = answer(capsys, "fit", tiny, *SHORT, "--chains", 2, "--workers", workers, "--out", out)
        assert [len(chain) for chain in result["log_joint"]] == [6, 6]
        best = int(np.argmax([np.mean(chain) for chain in result["log_joint"]]))
        assert result["topics_of"] == f"chain {best} (highest mean log joint), means over 6 draws"
    assert same_bits(read_record(tmp_path / "1"), read_record(tmp_path / "2"))


def test_fit_of_one_sweep_and_one_topic(tiny: Path, capsys: Capture) -> None:
    result = answer(capsys, "fit", tiny, "--topics", 1, "--sweeps", 1, "--burn-in", 0, "--chains", 1)
    assert (len(result["log_joint"]), result["rhat"], result["effective_sample_size"]) == (1, None, None)


def test_evidence(tiny: Path, capsys: Capture) -> None:
    work = ["--topics", "1-2,4", "--sweeps", 30, "--repeats", 3, "--alpha", 0.4, "--eta", 0.3]
    found = answer(capsys, "evidence", tiny, *work, "--workers", 2)
    assert found["topics"] == [1, 2, 4]
    assert [len(found[key]) for key in ("log_evidence", "standard_error", "log_estimates")] == [3, 3, 3]
    assert len(found["log_estimates"][0]) == 3
    assert found["standard_error"][0] == pytest.approx(0, abs=1e-9)  # one topic is a closed form
    again = answer(capsys, "evidence", tiny, *work, "--workers", 1)
    assert found | {"seconds": None} == again | {"seconds": None}
    assert answer(capsys, "evidence", tiny, *work, "--method", "pseudo-marginal")["unbiased"]
    for rival in ("chib", "harmonic-z", "harmonic-psi"):
        found = answer(capsys, "evidence", tiny, *work, "--method", rival)
        assert "only for comparison" in found["warnings"][-1]
        assert ("one_labelling" in found) == (rival == "chib")
        if rival == "chib":  # in one labelling, or in all of them
            more = np.subtract(found["one_labelling"], found["log_evidence"])
            assert more == pytest.approx(np.log([1, 2, 24]))
    assert answer(capsys, "evidence", tiny, "--repeats", 1, "--sweeps", 4)["standard_error"][0] is None


@pytest.mark.parametrize(
    ("way", "word"),
    [("--path ais", "unbiased"), ("--path replica-exchange", "biased"), ("--method chib", "one labelling")],
)
def test_evidence_for_people(tiny: Path, capsys: Capture, way: str, word: str) -> None:
    work = ["--topics", "2", "--sweeps", "4", "--repeats", "2", "--workers", "1"]
    main(["evidence", str(tiny), *work, *way.split()])
    assert f" {word}" in capsys.readouterr().out


def test_evidence_of_several_names_the_best(tiny: Path, capsys: Capture) -> None:
    main(["evidence", str(tiny), "--topics", "1-3", "--sweeps", "4", "--passes", "1", "--repeats", "1"])
    out = capsys.readouterr().out
    assert re.search(
        r"The evidence is largest at \d topics; the errors do not rule out \d, \d\.\n", out
    )  # they are unknown


def test_evidence_with_a_list_of_alphas(tiny: Path, capsys: Capture) -> None:
    work = ["--topics", 2, "--sweeps", 300, "--repeats", 4, "--eta", 0.3, "--workers", 1]
    one, same, other = (
        answer(capsys, "evidence", tiny, *work, "--alpha", alpha) for alpha in ("0.4", "0.4,0.4", "0.4,4")
    )
    assert one["log_estimates"] == same["log_estimates"]
    swapped = answer(capsys, "evidence", tiny, *work, "--alpha", "4,0.4")  # names of topics mean nothing
    error = np.hypot(other["standard_error"][0], swapped["standard_error"][0])
    assert abs(other["log_evidence"][0] - swapped["log_evidence"][0]) < 9 * error
    assert other["log_evidence"] != one["log_evidence"]


BOTH = {"posterior", "standard_error", "mode", "chains", "rhat", "acceptance_rate", "warnings"}
METHODS = {
    "jump": {"mean", "mean_error", "effective_sample_size", "rhat_log_joint", "total_variation", "top_words"},
    "pmmh": {"longest_stay", "log_estimate_sd"},
}


@pytest.mark.parametrize("method", METHODS)
def test_topics(tiny: Path, capsys: Capture, method: str) -> None:
    work = ["--max", 4, "--start", "1,4", "--iterations", 200, "--burn-in", 20, "--alpha", 0.4]
    work += [] if method == "jump" else ["--method", method]
    found = answer(capsys, "topics", tiny, *work, "--workers", 1)
    assert sum(found["posterior"].values()) == pytest.approx(1)
    assert found["standard_error"].keys() == found["posterior"].keys()
    assert str(found["mode"]) in found["posterior"]
    assert [chain["start"] for chain in found["chains"]] == [1, 4]
    assert set(found) >= BOTH | METHODS[method]
    assert found == answer(capsys, "topics", tiny, *work, "--workers", 2)
    assert answer(capsys, "topics", tiny, *work[2:], "--max", 0, "--prior", "poisson:2", "--workers", 1)["mode"] >= 1


OTHER_WAYS: dict[str, dict[str, Any]] = {
    "--sampler sparse": {"sampler": "sparse"},
    "--sampler grouped": {"sampler": "grouped"},
    "--z-start pilot": {"z_start": "pilot"},
    "--max 0 --prior geometric:0.1": {"topics": TopicPrior(1, None, "geometric", 0.1)},
    "--max 0 --prior poisson:4": {"topics": TopicPrior(1, None, "poisson", 4.0)},
}


@pytest.mark.parametrize("words", OTHER_WAYS)
def test_topics_in_other_ways(tmp_path: Path, capsys: Capture, words: str) -> None:
    """What the library finds, and not what the defaults would have; six tokens, so the chain moves."""
    write_corpus(CORPUS, tmp_path / "x.ldac")
    work = ["--max", 4, "--start", 2, "--inner", 2, "--iterations", 300, "--burn-in", 0, "--alpha", 7, "--eta", 7]
    command = ["topics", tmp_path / "x.ldac", "--method", "pmmh", *work, "--workers", 1]
    found = answer(capsys, *command, *words.split())
    options = {"topics": TopicPrior(1, 4), "starts": [2], "inner": 2, "iterations": 300} | OTHER_WAYS[words]
    expected = pmmh(CORPUS, Prior(7.0, 7.0), **options)
    assert found["posterior"] == {str(topics): share for topics, share in expected.posterior.items()}
    assert found["log_estimate_sd"] == expected.log_estimate_sd
    assert found != answer(capsys, *command)
    assert sum(found["posterior"].values()) == pytest.approx(1)
    visited = {int(topics) for topics in found["posterior"]}
    assert visited == set(range(1, max(visited) + 1))  # one topic is possible, and none is jumped over
    assert (max(visited) > 4) == ("--max" in words)


@pytest.mark.parametrize(
    ("low", "high", "starts"),
    [(1, 100, [5, 30]), (1, 20, [5, 20]), (1, 5, [1, 5]), (2, 3, [2, 3]), (40, 99, [40, 99]), (40, None, [40, 65])],
)
def test_where_chains_start(low: int, high: int | None, starts: list[int]) -> None:
    assert within((5, 30), low, high) == starts


def test_topics_of_a_short_range_needs_no_start(tiny: Path, capsys: Capture) -> None:
    work = ["--max", 3, "--iterations", 50, "--burn-in", 0, "--workers", 1]
    assert answer(capsys, "topics", tiny, *work) == answer(capsys, "topics", tiny, *work, "--start", "1,3")


def test_topics_for_people(tiny: Path, capsys: Capture) -> None:
    """Also after a single iteration, which has no error."""
    for iterations, error in ((1, "unknown"), (60, "")):
        words = ["topics", tiny, "--max", 4, "--start", 2, "--iterations", iterations, "--burn-in", 5]
        assert main([str(word) for word in words]) == 0
        out = capsys.readouterr().out
        assert "posterior probability of each number of topics:" in out
        assert "chain from  2 topics: mean" in out
        assert (f"its Monte Carlo standard error {error}" in " ".join(out.split())) or not error
        assert "A single chain cannot show whether the start matters" in out


def test_score(tiny: Path, capsys: Capture) -> None:
    options = ["score", tiny, *SHORT, "--heldout", 0.5]
    first = answer(capsys, *options, "--seed", 5)
    assert {"log_score", "standard_error", "perplexity"} <= set(first)
    assert first["perplexity"] == pytest.approx(np.exp(-first["log_score"]))
    assert 1 < first["perplexity"] < 20  # eight terms
    assert answer(capsys, *options, "--seed", 5) == first
    assert answer(capsys, *options, "--seed", 6) != first
    assert answer(capsys, "score", tiny, "--sweeps", 1, "--burn-in", 0)["standard_error"] is None


def test_for_people(tiny: Path, capsys: Capture) -> None:
    for words in (["fit", tiny, *SHORT], ["score", tiny, *SHORT], ["corpus", "info", tiny]):
        assert main([*map(str, words)]) == 0
        out, err = capsys.readouterr()
        assert out.count("\n") > 2
        assert err == ""


def test_warnings_for_people(tiny: Path, tmp_path: Path, capsys: Capture) -> None:
    """A line each, after all else, and nothing where there are none."""
    (tmp_path / "x.ldac").write_text("2 0:1 1:2\n0\n1 2:1\n")
    for path, last in (
        (
            tmp_path / "x.ldac",
            "warning: 1 document is empty: empty documents are kept, but they say nothing about the topics.",
        ),
        (tiny, ""),
    ):
        # three sweeps of one chain are too few for a diagnostic, and so for its warning
        assert main(["fit", str(path), "--topics", "2", "--sweeps", "3", "--burn-in", "3", "--chains", "1"]) == 0
        out = capsys.readouterr().out
        assert ("warning" in out) == bool(last)
        assert out.rstrip().endswith(last)
        assert "[" not in out


@pytest.mark.parametrize(
    "command",
    ["", "corpus", "corpus info", "corpus simulate", "corpus convert", "fit", "evidence", "topics", "hyper", "score"],
)
def test_help(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command.split(), "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: bayestopics {command}".rstrip())


# -- as a process of its own -----------------------------------------------------------------------


def test_process(tiny: Path, tmp_path: Path) -> None:
    def run(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*COMMAND, *map(str, words)], text=True, capture_output=True, cwd=tmp_path, **options)

    good = run("corpus", "info", tiny, "--json")
    assert (good.returncode, good.stderr, json.loads(good.stdout)["tokens"]) == (0, "", 180)
    (tmp_path / "bad.ldac").write_text("1 0:-1\n")
    bad = run("corpus", "info", "bad.ldac", "--json")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "bayestopics: bad.ldac: line 1: negative count -1\n"
    assert run("--version").stdout == f"bayestopics {__version__}\n"


def test_a_bad_environment_is_one_line(tiny: Path) -> None:
    environment = os.environ | {"BAYESTOPICS_CHECKPOINT_SECONDS": "often"}
    words = [*COMMAND, "fit", str(tiny), "--sweeps", "1"]
    found = subprocess.run(words, text=True, capture_output=True, env=environment)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == (
        "bayestopics: the environment variable BAYESTOPICS_CHECKPOINT_SECONDS=often is not a number of seconds\n"
    )


def test_reader_that_leaves(tiny: Path) -> None:
    buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    words = [*COMMAND, "corpus", "info", str(tiny)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
