"""Readers of published files, on made-up files of the same form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.io

from bayestopics.corpus.sources import read_published


def test_abstracts_from_a_volume_on(tmp_path: Path) -> None:
    """Guards against a first volume that is left out, a wrong year, and a cut that is a word too long."""
    (tmp_path / "abstracts").write_text("old words\nnew words\nlast words here\n", encoding="latin-1")
    (tmp_path / "volumes").write_text("3\n4\n5\n")
    files = {name: tmp_path / name for name in ("abstracts", "volumes")}
    corpus = read_published(
        "nips-abstracts", files, {"first_volume": 4, "max_words": 2, "pruning": {"stop_words": "none"}}
    )
    assert corpus.vocabulary == ("last", "new", "words")
    assert corpus.counts.toarray().tolist() == [[0, 1, 1], [1, 0, 1]]
    assert corpus.labels == ("1991", "1992")


def test_groups_of_postings_are_numbered_from_one(tmp_path: Path) -> None:
    """Guards against labels that are shifted, and a matrix that is not turned."""
    documents = np.array([[1, 0, 1], [0, 1, 1]])  # terms x documents
    names = {"wordlist": np.array(["hat", "pin"], object), "groupnames": np.array(["comp.*", "rec.*"], object)}
    scipy.io.savemat(tmp_path / "x.mat", {"documents": documents, "newsgroups": np.array([1, 2, 1]), **names})
    corpus = read_published("roweis-w100", {"counts": tmp_path / "x.mat"}, {})
    assert corpus.labels == ("comp.*", "rec.*", "comp.*")
    assert corpus.vocabulary == ("hat", "pin")
    assert corpus.counts.toarray().tolist() == documents.T.tolist()
