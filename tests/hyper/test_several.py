"""Several independent searches: do they agree, and what is said if not?"""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus import write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper import best as hyper_best
from bayestopics.hyper import several
from bayestopics.hyper.best import Best, Ellipse
from bayestopics.hyper.search import Search, find
from bayestopics.hyper.several import DISAGREE, agreement, needed, search_several
from dying import Died, Dying

SMALL = simulate_lda(
    documents=30, length=30, terms=10, topics=2, alpha=0.3, eta=0.6, rng=np.random.default_rng(1)
).corpus
SPREAD = np.array([[0.01, 0.004], [0.004, 0.02]])  # of the log h of one batch


def made_up(rng: np.random.Generator, batches: int, shift: float = 0.0) -> Best:
    """The best h of a chain whose batches are normal, and its ellipse."""
    draws = rng.multivariate_normal(np.log([0.2, 0.8]) + shift, SPREAD, batches)
    h, covariance = np.exp(draws.mean(axis=0)), np.cov(draws.T) / batches
    return Best(h[0], h[1], False, Ellipse.around(h, covariance, 6.0, 0.95), 0.0, 0.0, None, batches)


@pytest.mark.parametrize("chains", [2, 4])
def test_chains_of_one_law_agree_as_often_as_the_test_says(chains):
    """1000 times: p-values below 1 %, 10 % and 50 % are as many, or it is one false alarm in 10,000 (each side)."""
    found = [
        agreement([made_up(np.random.default_rng([chains, n, k]), 12) for k in range(chains)]) for n in range(1000)
    ]
    for level in (0.01, 0.1, 0.5):
        low, high = binom.ppf([1e-4, 1 - 1e-4], 1000, level)
        assert low <= np.sum(np.array(found) < level) <= high


def test_a_chain_in_another_mode_is_seen():
    """A shift by ten standard errors of one chain of four."""
    rng = np.random.default_rng(1)
    four = [made_up(rng, 20), made_up(rng, 20), made_up(rng, 20), made_up(rng, 20, shift=10 * np.sqrt(0.01 / 20))]
    assert agreement(four) < 1e-6
    assert agreement(four[:1]) is None


def test_the_same_bits_for_any_number_of_workers():
    """And each chain is a search by itself, with its own seed."""
    how = {"sweeps": 100, "chains": 3, "seed": 1}
    one, two = (search_several(SMALL, 2, workers=workers, **how) for workers in (1, 2))
    assert one.summary() == two.summary()
    for here, there in zip(one.chains, two.chains, strict=True):
        np.testing.assert_array_equal(here.of_alpha, there.of_alpha)
    checkpoint = Dying(200)  # in the second half of the first chain
    with pytest.raises(Died):
        search_several(SMALL, 2, checkpoint=checkpoint, **how)
    checkpoint.left.clear()
    assert search_several(SMALL, 2, workers=2, checkpoint=checkpoint, **how).summary() == one.summary()
    tops = np.array([[row["alpha"], row["eta"]] for row in one.summary()["chains"]])
    assert len(np.unique(tops, axis=0)) == 3
    assert [one.best.alpha, one.best.eta] == pytest.approx(np.exp(np.log(tops).mean(axis=0)))


def pretend(monkeypatch, *tops: Best) -> None:
    """Chains with these best h."""
    found = [Search(top, [find(SMALL, 2, sweeps=100, shape=(2, 2)).chains[0]], 1, ["too short"]) for top in tops]
    monkeypatch.setattr(several, "team", lambda *_: nullcontext(lambda *_: found))
    together = Best(0.2, 0.8, False, None, 0.0, 0.0, None, len(tops))
    monkeypatch.setattr(several, "best_of_chains", lambda chains: together)


def test_what_is_said(monkeypatch):
    rng = np.random.default_rng(2)
    near = [made_up(rng, 20) for _ in range(4)]
    pretend(monkeypatch, *near)
    assert several.agreement(near) > DISAGREE
    said = search_several(SMALL, 2, chains=4, sweeps=100).warnings
    assert said == [f"Chain {number}: too short" for number in range(4)]
    pretend(monkeypatch, *near[:3], made_up(rng, 20, shift=1.0))
    assert "The chains disagree by far more" in search_several(SMALL, 2, chains=4, sweeps=100).warnings[0]
    assert (
        search_several(SMALL, 2, chains=4, sweeps=100, precision=0.1)
        .warnings[1]
        .startswith("The Monte Carlo error is unknown")
    )
    pretend(monkeypatch, near[0])
    alone = search_several(SMALL, 2, chains=1, sweeps=100)
    assert "A single chain may stay in one mode" in alone.warnings[0]
    assert (alone.agreement, alone.best) == (None, near[0])
    with pytest.raises(InputError, match="0 chains"):
        search_several(SMALL, 2, chains=0, sweeps=100)


def test_a_region_of_tempering_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its ends log M-hat has to fall by half of what a parabola would; where it is too wide there is no ellipse."""
    region = Ellipse.around(np.array([0.2, 0.8]), np.diag([0.04, 0.09]), 5.99, 0.95)
    wide = Ellipse.around(np.array([0.2, 0.8]), np.diag([0.04, 0.9]), 5.99, 0.95)
    assert region is not None
    told = Best(0.2, 0.8, False, region, 0.0, 0.0, region, 32)

    class Made:
        """log M-hat is a parabola, but flat below the best alpha."""

        def __init__(self, reach: float, bend: float) -> None:
            self.bend, self.chain = bend, SimpleNamespace(ends=((0.2 / reach, 0.2 * reach), (0.8 / reach, 0.8 * reach)))

        def log_mean(self, alpha: float, eta: float) -> float:
            first = np.log(alpha / 0.2) / 0.2
            return -(first**2 * (self.bend if first < 0 else 1.0) + (np.log(eta / 0.8) / 0.3) ** 2) / 2

    monkeypatch.setattr(hyper_best, "Terms", SimpleNamespace(of=lambda chain: chain))
    assert several.checked(told, [Made(10, 1.0), Made(10, 0.6)]) == (told, [])
    found, said = several.checked(told, [Made(10, 0.4)])
    assert (found.ellipse, found.region) == (region, None)
    assert said[0].startswith("The corpus does not bound alpha as an ellipse would, so there is no region")
    assert several.checked(told, [Made(1.1, 0.4)]) == (told, [])  # the grid does not reach so far
    found, said = several.checked(replace(told, region=wide), [])
    assert (found.ellipse, found.region) == (None, None)
    assert said[0].startswith("The corpus hardly determines eta")
    found, said = several.checked(replace(told, ellipse=wide), [])
    assert (found.ellipse, found.region) == (None, None)


@pytest.mark.usefixtures("workers_here")
def test_precision_makes_the_chains_longer() -> None:
    """Until it is reached with enough round trips: same bits for any number of workers; else it says what it needs."""
    how = {"chains": 2, "sweeps": 100, "shape": (3, 3), "seed": 4, "alphas": (0.2, 1.0), "etas": (0.3, 1.5)}
    short = search_several(SMALL, 2, **how)
    assert short.best.precision is not None
    wanted = short.best.precision / 2
    longer = search_several(SMALL, 2, precision=wanted, **how)
    assert longer.best.precision is not None
    assert longer.best.precision <= wanted
    assert min(chain.round_trips for chain in longer.chains) >= several.TRIPS
    assert needed(longer.best, longer.found, wanted) == []
    assert len(longer.chains[0]) > 200
    assert search_several(SMALL, 2, precision=wanted, workers=2, **how).summary() == longer.summary()
    said = needed(short.best, short.found, short.best.precision / 3)
    assert "chains about 9.0 times as long are needed" in said[0]
    assert "round trips over its grid, and at least 20 are needed" in said[1]
    with pytest.raises(InputError, match="between 0 and 1"):
        search_several(SMALL, 2, precision=2.0, **how)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(SMALL, tmp_path / "small.ldac")
    words = ["hyper", str(tmp_path / "small.ldac"), "--topics", "2", "--sweeps", "100", "--workers", "1"]
    tempering = [*words, "--method", "tempering"]
    assert main([*tempering, "--chains", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"alpha", "eta", "ellipse", "region", "agreement", "precision", "chains", "warnings"} == set(found)
    assert len(found["chains"]) == 4
    if found["ellipse"] is not None:
        assert 0 < found["ellipse"]["alpha"][0] < found["alpha"] < found["ellipse"]["alpha"][1]
    assert main([*tempering, "--chains", "1"]) == 0
    text = capsys.readouterr().out
    assert "chain      alpha        eta" in text
    assert "warning: A single chain may stay in one mode" in text
    assert main([*words, "--method", "gibbs-em"]) == 0
    assert "ellipse  unknown" in capsys.readouterr().out
