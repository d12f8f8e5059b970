"""What all tests share: no checkpoint goes to the user's own cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bayestopics.runs import driver


@pytest.fixture(scope="session", autouse=True)
def _own_checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "CHECKPOINTS", tmp_path_factory.mktemp("checkpoints"))
        yield


@pytest.fixture
def checkpoints(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which this test's runs have their checkpoints."""
    folder = tmp_path_factory.mktemp("checkpoints")
    monkeypatch.setattr(driver, "CHECKPOINTS", folder)
    return folder
