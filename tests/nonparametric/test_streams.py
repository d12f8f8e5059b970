"""What all learners promise: saved and resumed with the same bits, memory that does not grow, errors in one line."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sparse
from numpy.testing import assert_array_equal

from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric import stream
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.dp_truncated import TruncatedDPMixture
from bayestopics.nonparametric.dp_truncation_free import TruncationFreeDPMixture
from bayestopics.nonparametric.hdp_memoized import MemoizedHDP
from bayestopics.nonparametric.hdp_truncated import TruncatedHDP
from bayestopics.nonparametric.hdp_truncation_free import TruncationFreeHDP
from bayestopics.nonparametric.stream import Bags, History, Learner, minibatches

TERMS = 30
Make = Callable[[np.random.Generator], Learner]
LEARNERS: dict[str, Make] = {
    "truncation-free DP mixture": lambda rng: TruncationFreeDPMixture(TERMS, rng),
    "truncated DP mixture": lambda rng: TruncatedDPMixture(TERMS, rng, 1000, truncation=10),
    "truncation-free HDP": lambda rng: TruncationFreeHDP(TERMS, rng, sweeps=2),
    "truncation-free HDP, blocks": lambda rng: TruncationFreeHDP(TERMS, rng, sweeps=1, block_moves=True),
    "truncated HDP": lambda rng: TruncatedHDP(TERMS, rng, 1000, truncation=10, tables=5),
    "memoized HDP": lambda rng: MemoizedHDP(TERMS, rng, sweeps=2, start=10),
}


@pytest.fixture(params=LEARNERS)
def make(request: pytest.FixtureRequest) -> Make:
    return LEARNERS[request.param]


def batches(count: int, size: int = 5, seed: int = 1) -> list[sparse.csr_array]:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(TERMS, 0.1), 4)
    return [sparse.csr_array(rng.multinomial(20, theta[rng.integers(4, size=size)])) for _ in range(count)]


def assert_same_bits(one: Learner, other: Learner) -> None:
    first, second = one.state_dict(), other.state_dict()
    assert list(first) == list(second)
    for name in first:
        assert_array_equal(first[name], second[name], strict=True)


def test_saved_and_resumed_with_the_same_bits(make: Make, tmp_path: Path) -> None:
    straight, stopped = make(np.random.default_rng(2)), make(np.random.default_rng(2))
    for k, batch in enumerate(batches(12)):
        straight.partial_fit(batch)
        stopped.partial_fit(batch)
        if k % 4 == 2:
            stopped.save(tmp_path / "model.npz")
            stopped = type(stopped).load(tmp_path / "model.npz")
    assert_same_bits(straight, stopped)
    other = make(np.random.default_rng(3))  # a control: another seed, other bits
    for batch in batches(12):
        other.partial_fit(batch)
    assert not np.array_equal(other.state_dict()["generator"], straight.state_dict()["generator"])


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.MT19937])
def test_any_generator_can_be_saved(kind: type[np.random.BitGenerator]) -> None:
    learner = TruncationFreeHDP(TERMS, np.random.Generator(kind(1)))
    learner.partial_fit(batches(1)[0])
    resumed = TruncationFreeHDP.from_state_dict(learner.state_dict())
    assert_array_equal(resumed.rng.random(1000), learner.rng.random(1000))


def test_a_state_of_another_learner_is_refused(make: Make, tmp_path: Path) -> None:
    make(np.random.default_rng(1)).save(tmp_path / "model.npz")
    own = type(make(np.random.default_rng(1)))
    others = [kind for other in LEARNERS.values() if (kind := type(other(np.random.default_rng(1)))) is not own]
    for other in others:
        with pytest.raises(InputError, match="this is the state of"):
            other.load(tmp_path / "model.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"not an \.npz file"):
        others[0].load(tmp_path / "broken.npz")


def test_memory_is_flat_in_a_stream(make: Make) -> None:
    """In the second half of a stream, the peak memory rises by no more than a few arrays of components.

    There are four components and 20 words per document, so that no component is born late.
    """
    learner = make(np.random.default_rng(4))
    source = batches(200)
    for batch in source:
        learner.partial_fit(batch)
    peaks = []
    tracemalloc.start()
    for _ in range(2):
        tracemalloc.reset_peak()
        for batch in source:
            learner.partial_fit(batch)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 50_000


def test_a_corpus_and_a_matrix_are_the_same_batch(make: Make) -> None:
    one, other = make(np.random.default_rng(5)), make(np.random.default_rng(5))
    for batch in batches(3):
        one.partial_fit(batch)
        other.partial_fit(Corpus.from_sparse(batch))
    assert_same_bits(one, other)


def test_batches_of_one_and_empty_documents(make: Make) -> None:
    learner = make(np.random.default_rng(6))
    empty = sparse.csr_array((2, TERMS), dtype=int)
    learner.partial_fit(empty)
    learner.partial_fit(empty[:0])  # no document: no update
    for batch in batches(3, size=1):
        learner.partial_fit(batch)
    assert learner.documents_seen == 5
    assert learner.updates == 4
    assert np.all(np.isfinite(learner.components.stored))
    weights, unseen = learner.mean_weights()
    assert weights.sum() + unseen == pytest.approx(1.0)


def test_a_batch_of_other_terms_is_refused(make: Make) -> None:
    with pytest.raises(InputError, match="this batch has 3 terms, but the model has 30"):
        make(np.random.default_rng(7)).partial_fit(np.ones((2, 3), int))
    with pytest.raises(InputError, match="negative counts"):
        make(np.random.default_rng(7)).partial_fit(-np.ones((2, TERMS), int))
    with pytest.raises(InputError, match="not whole numbers"):
        make(np.random.default_rng(7)).partial_fit(np.full((2, TERMS), 0.5))


@pytest.mark.parametrize("documents", [0, 3])
def test_a_score_of_no_words_is_refused(make: Make, documents: int) -> None:
    with pytest.raises(InputError, match="there are no held-out words"):
        make(np.random.default_rng(7)).partial_fit(batches(1)[0], sparse.csr_array((documents, TERMS), dtype=int))


@pytest.mark.parametrize("wrong", [{"eta": 0.0}, {"concentration": np.inf}, {"eta": np.nan}])
def test_impossible_numbers_are_refused(wrong: dict[str, float]) -> None:
    for kind in (TruncationFreeDPMixture, TruncatedDPMixture, TruncationFreeHDP, TruncatedHDP):
        with pytest.raises(InputError, match="must be positive and finite"):
            kind(TERMS, np.random.default_rng(8), 10, **wrong)


def test_history_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_ENTRIES", 8)
    history = History(2)
    for update in range(1, 101):
        history.add(update, 10 * update)
    table = history.table()
    assert 4 <= len(table) <= 8
    assert_array_equal(np.unique(np.diff(table[:, 0])), [history.interval])
    assert_array_equal(table[:, 1], 10 * table[:, 0])


def test_scores_are_recorded_with_the_same_bits_and_change_nothing(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores after every second batch, in a learner stopped and resumed, also when scores are thinned; or no scores."""
    monkeypatch.setattr(stream, "MOST_ENTRIES", 4)
    (held_out,) = batches(1, seed=11)
    straight, stopped, unscored = (make(np.random.default_rng(2)) for _ in range(3))
    for k, batch in enumerate(batches(12)):
        scored = held_out if k % 2 else None
        straight.partial_fit(batch, scored)
        stopped.partial_fit(batch, scored)
        unscored.partial_fit(batch)
        if k % 4 == 2:
            stopped.save(tmp_path / "model.npz")
            stopped = type(stopped).load(tmp_path / "model.npz")
    assert_same_bits(straight, stopped)
    table = straight.scores.table()
    assert_array_equal(table[:, 0], [20, 40, 60])  # of 10, 20, .. 60 documents
    assert table[-1].tolist() == [straight.documents_seen, straight.used_components(), *straight.score(held_out)]
    assert np.all(table[:, 2] < 0.0)
    assert len(unscored.scores.table()) == 0
    assert_array_equal(unscored.state_dict()["generator"], straight.state_dict()["generator"])
    assert_array_equal(unscored.components.stored, straight.components.stored)


def test_iterations_on_a_corpus_are_scored(make: Make) -> None:
    one, held_out = batches(2, size=10, seed=12)
    learner = make(np.random.default_rng(13))
    if isinstance(learner, MemoizedHDP):
        pytest.skip("it has no other way to fit a corpus than its batches")
    learner.fit(Corpus.from_sparse(one), 3, held_out=held_out)
    table = learner.scores.table()
    assert_array_equal(table[:, 0], [10, 20, 30])
    assert table[-1, 2] == learner.score(held_out).per_word
    assert_array_equal(table[:, :2], learner.history.table())


AFTER_COMPILING = f"""
import gc
import numpy as np
from numba.core.registry import CPUDispatcher
from bayestopics.corpus.synthetic import simulate_hdp
from bayestopics.nonparametric.learners import compile_learner
from bayestopics.nonparametric.learners import KINDS

def compiled():
    kernels = [found for found in gc.get_objects() if isinstance(found, CPUDispatcher)]
    return {{kernel.py_func.__qualname__: len(kernel.signatures) for kernel in kernels}}

counts = simulate_hdp(200, 30, {TERMS}, 5.0, 1.0, 0.1, np.random.default_rng(1)).corpus.counts
for kind in KINDS:
    compile_learner(kind)
before, layouts = compiled(), set()
for kind in KINDS:
    learner = kind({TERMS}, np.random.default_rng(2), 200)
    for start in range(0, 200, 5):
        learner.partial_fit(counts[start : start + 5], counts[[0]] if start % 20 == 0 else None)
        layouts.add((kind.name, learner.components.stored.flags.c_contiguous))
        if start == 100:
            learner.components.keep(np.ones(learner.components.count, bool))
            learner = kind.from_state_dict(learner.state_dict())
    learner.partial_fit(counts[[0]])
assert compiled() == before, compiled().items() - before.items()
assert (before["_add_tokens"], before["_add_entries"]) == (2, 3), before  # births from the data add entries too
assert len(layouts) == 7, layouts  # two of each truncation-free method
"""


def test_nothing_is_compiled_later() -> None:
    """In a separate process, components come and go, a learner is resumed, and held-out documents are scored."""
    done = subprocess.run([sys.executable, "-c", AFTER_COMPILING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_minibatches_are_a_permutation_each_pass() -> None:
    corpus = Corpus.from_sparse(np.diag(np.arange(1, 8)))
    seen = np.vstack([b.toarray() for b in minibatches(corpus, 3, np.random.default_rng(9), passes=2)])
    for half in (seen[:7], seen[7:]):
        assert_array_equal(np.sort(half.sum(axis=1)), np.arange(1, 8))
    endless = minibatches(corpus, 3, np.random.default_rng(9))
    assert sum(next(endless).shape[0] for _ in range(300)) == 700


def test_entries_of_a_matrix_are_put_in_order() -> None:
    messy = sparse.csr_array((np.array([1, 2, 0, 3]), np.array([4, 1, 2, 4]), np.array([0, 4])), shape=(1, 5))
    bags = Bags.of(messy, 5)
    assert bags.terms.tolist() == [1, 4]
    assert bags.counts.tolist() == [2, 4]
    assert bags.kinds.tolist() == [1, 4]
    assert bags.lengths.tolist() == [6]


def test_components_fade_grow_and_go() -> None:
    """Compared with plain arrays over 400 updates: the weight is multiplied in when it gets too small."""
    rng = np.random.default_rng(10)
    components, plain, sizes = Components(4, 0.1), np.zeros((4, 0)), np.zeros(0)
    for step in range(400):
        rate = 0.7 if step != 100 else 1.0
        components.fade(rate)
        plain, sizes = plain * (1 - rate), sizes * (1 - rate)
        if step % 40 == 0:
            components.grow(2)
            plain, sizes = np.hstack((plain, np.zeros((4, 2)))), np.append(sizes, [0, 0])
        added = rng.random(plain.shape)
        components.stored[:] += added / components.weight
        components.sizes[:] += 1
        plain, sizes = plain + added, sizes + 1
        if step == 300:
            chosen = rng.random(len(sizes)) < 0.6
            components.keep(chosen)
            plain, sizes = plain[:, chosen], sizes[chosen]
    np.testing.assert_allclose(components.rows(np.arange(4)), plain + 0.1)
    np.testing.assert_allclose(components.sizes, sizes)
