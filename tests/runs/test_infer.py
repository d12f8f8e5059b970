"""`infer`: the road from a kept fit to the topics of new documents, and what it warns about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayestopics import Corpus, InputError, fit, infer, simulate
from bayestopics.cli.main import main
from bayestopics.runs.fit_result import FitResult


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[FitResult, Path]:
    folder = tmp_path_factory.mktemp("fits") / "fit"
    corpus = simulate(documents=30, length=40, terms=20, topics=2, seed=1)
    return fit(corpus, topics=2, sweeps=30, burn_in=30, chains=2, out=folder), folder


def test_the_command_gives_what_the_fit_says(found: tuple[FitResult, Path], tmp_path: Path) -> None:
    """Guards another seed, other sweeps, and rows in another order; rare words of the new documents count."""
    result, folder = found
    texts = ["w01 w01 w02", "w03 unheard", "w04 w05"]
    pd.DataFrame({"year": [7, 8, 9], "text": texts}).to_csv(tmp_path / "new.csv", index=False)
    words = ["--fit", str(folder), "--out", str(tmp_path / "out"), "--seed", "5", "--sweeps", "4", "--burn-in", "3"]
    assert main(["infer", str(tmp_path / "new.csv"), "--token-pattern", "[a-z0-9]+", *words]) == 0
    table = pd.read_csv(tmp_path / "out" / "documents.csv")
    counts = [[2, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]
    corpus = Corpus.from_sparse(np.array(counts), ["w01", "w02", "w03", "unheard", "w04", "w05"])
    expected = result.new_documents(corpus, sweeps=4, burn_in=3, seed=5)
    assert (table["year"].tolist(), table["unknown"].tolist()) == ([7, 8, 9], [0, 1, 0])
    for name in ("topic_0", "topic_1_sd"):
        np.testing.assert_allclose(table[name], expected[name])


def test_it_warns_of_words_that_the_fit_does_not_know(found: tuple[FitResult, Path]) -> None:
    strange = Corpus.from_sparse(np.array([[3, 0], [1, 2]]), ["unheard", "w01"])
    said = infer(strange, found[0]).warnings
    assert "67% of the words are unknown" in said[0]
    assert "1 of 2 documents" in said[1]
    assert infer(Corpus.from_sparse(np.array([[1, 2]]), ["w02", "w01"]), found[0]).warnings == []


def test_it_needs_a_fit(found: tuple[FitResult, Path], tmp_path: Path) -> None:
    corpus = Corpus.from_sparse(np.array([[1, 2]]), ["w02", "w01"])
    with pytest.raises(InputError, match="nowhere"):
        infer(corpus, tmp_path / "nowhere")
    infer(corpus, found[0], out=tmp_path / "new")
    with pytest.raises(InputError, match="a record of `infer`, not of `fit` or `select`"):
        infer(corpus, tmp_path / "new")
    with pytest.raises(InputError, match="at least 1 sweep"):
        infer(corpus, found[0], sweeps=0)


def test_documents_are_shown_by_their_id_and_empty_ones_get_no_topics(
    found: tuple[FitResult, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.DataFrame({"id": ["first", "other"], "text": ["w01 w02", "unheard"]}).to_csv(tmp_path / "new.csv", index=False)
    words = ["infer", str(tmp_path / "new.csv"), "--fit", str(found[1]), "--token-pattern", "[a-z0-9]+"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "document first  topic " in said
    assert "document other  has no word that the fit knows" in said
