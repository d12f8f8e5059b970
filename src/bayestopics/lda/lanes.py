"""Eight chains of single-site Gibbs side by side, for methods that need many short chains on one corpus.

All chains visit the same token at the same time. So the eight counts of a topic, one per chain, form one vector for the
CPU, and a sweep of all eight takes as long as two or three sweeps of `single_site`. The transition law is that of
`single_site` by document. The bits of a chain depend only on its own start and random numbers, not on the other chains.
The chains may have different numbers of topics: there is room for the largest, and a topic that a chain does not have
gets alpha = 0.

The next token of a document is taken out of the counts before the topics of the current token are drawn, because the
CPU is otherwise idle while the sums are computed. Counts are whole numbers, so the order changes nothing.

numba does not turn loops over eight chains into vector instructions. Therefore the phases of a token's visit are
written directly in LLVM, in the second half of this file; the first line of each phase says what it computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bayestopics.base.jit import kernel
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior, check_assignments, count, unsigned

CHAINS = 8
LINE = 64  # bytes of a line of the cache
SMALLEST = 1e-100  # a product of probabilities is turned into a log before it underflows


@dataclass(frozen=True, eq=False)
class Lanes:
    """Everything that the next sweep needs. Sweeps change the assignments and the counts in place."""

    documents: np.ndarray  # uint32[N]
    terms: np.ndarray  # uint32[N]
    alpha: np.ndarray  # float64[kinds, T * CHAINS]; here and below, the numbers of all chains for a topic are adjacent
    alpha_of: np.ndarray  # uint32[D]: the row of alpha that belongs to each document
    eta: float
    assignments: np.ndarray  # int32[N, CHAINS]
    document_topic: np.ndarray  # int32[D, T * CHAINS]
    term_topic: np.ndarray  # int32[V, T * CHAINS]
    topic_total: np.ndarray  # float64[T * CHAINS], whole numbers


def init(corpus: Corpus, topics: Sequence[int], prior: Prior, assignments: Sequence[np.ndarray]) -> Lanes:
    """At most CHAINS chains from these assignments; if there are fewer, copies of the first fill the free places."""
    missing = CHAINS - len(topics)
    topics, assignments = [*topics, *[topics[0]] * missing], [*assignments, *[assignments[0]] * missing]
    most, documents, terms = max(topics), corpus.document_count, corpus.term_count
    alpha, topic_total = np.zeros((most, CHAINS)), np.empty((most, CHAINS))
    together = _aligned((corpus.token_count, CHAINS), np.int32)
    document_topic, term_topic = (_aligned((rows, most, CHAINS), np.int32) for rows in (documents, terms))
    for chain, (many, start) in enumerate(zip(topics, assignments, strict=True)):
        alpha[:many, chain] = prior.alpha_vector(many)
        check_assignments(corpus, many, start)
        together[:, chain] = start
        counts = count(corpus, most, start)
        document_topic[:, :, chain], term_topic[:, :, chain], topic_total[:, chain] = counts
    of_document, of_term = unsigned(corpus.documents, corpus.terms)
    return Lanes(
        of_document,
        of_term,
        alpha.reshape(1, -1),
        np.zeros(documents, np.uint32),
        float(prior.eta),
        together,
        document_topic.reshape(documents, -1),
        term_topic.reshape(terms, -1),
        topic_total.ravel(),
    )


def _aligned(shape: tuple[int, ...], kind: Any) -> np.ndarray:
    """An empty array that starts at a cache line, so that no row of eight numbers crosses two lines."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    data = np.empty(size + LINE, np.uint8)
    start = -data.ctypes.data % LINE
    return data[start : start + size].view(kind).reshape(shape)


def copied(lanes: Lanes) -> Lanes:
    """A copy with its own counts; the assignments are shared."""
    shared = (lanes.document_topic, lanes.term_topic, lanes.topic_total)
    counts = [_aligned(array.shape, array.dtype) for array in shared]
    for own, array in zip(counts, shared, strict=True):
        own[...] = array
    return replace(lanes, document_topic=counts[0], term_topic=counts[1], topic_total=counts[2])


def sweep(lanes: Lanes, words: np.ndarray) -> np.ndarray:
    """Update every assignment of every chain once, in place; returns log g of each chain.

    `words`, uint64[4, CHAINS], are the chains' random generators, as in `lda.uniforms`; they are not changed.
    """
    total_eta = len(lanes.term_topic) * lanes.eta
    counts = (lanes.document_topic, lanes.term_topic, lanes.topic_total)
    tokens = (lanes.documents, lanes.terms, lanes.assignments)
    alpha = (lanes.alpha, lanes.alpha_of)
    room = _aligned((3, len(lanes.topic_total)), np.float64)
    return _sweep(*tokens, *counts, *alpha, lanes.eta, total_eta, words.copy(), room)


@kernel
def _sweep(
    documents: np.ndarray,
    terms: np.ndarray,
    assignments: np.ndarray,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    alpha_of: np.ndarray,
    eta: float,
    total_eta: float,
    words: np.ndarray,
    room: np.ndarray,
) -> np.ndarray:
    cells = len(topic_total)
    most = cells // CHAINS
    here = room[0]  # counts of the document
    factor = room[1]  # (n_dt + alpha) / (m_t + V eta), of the dense conditional
    running = room[2]  # sums over the topics so far of (m_tv + eta) * factor
    out = np.empty(CHAINS, np.int32)  # topics of the next token, already out of the counts; -1 if there is none
    whole = np.empty(CHAINS)  # factor at these topics before the next token was taken out
    product, log_g = np.ones(CHAINS), np.zeros(CHAINS)
    start = 0
    while start < len(terms):
        d, stop = documents[start], start + 1
        while stop < len(terms) and documents[stop] == d:
            stop += 1
        own = alpha[alpha_of[d]]
        for k in range(cells):
            here[k] = document_topic[d, k]
            factor[k] = (here[k] + own[k]) / (topic_total[k] + total_eta)
        row = terms[start] * most
        _take(assignments, start, term_topic, row, here, topic_total, own, total_eta, factor, out, whole)
        for i in range(start, stop):
            _add_up(term_topic, row, most, eta, factor, running)
            following = row
            if i + 1 < stop:
                following = terms[i + 1] * most
                _take(assignments, i + 1, term_topic, following, here, topic_total, own, total_eta, factor, out, whole)
            else:
                out[:] = -1
            _draw(running, most, words, assignments, i)
            probability = (product, running, most, eta, out, whole, following == row)
            if _put(assignments, i, term_topic, row, here, topic_total, own, total_eta, factor, *probability):
                for chain in range(CHAINS):
                    if product[chain] < SMALLEST:
                        log_g[chain] += math.log(product[chain])
                        product[chain] = 1.0
            row = following
        for k in range(cells):
            document_topic[d, k] = here[k]
        start = stop
    return log_g + np.log(product)


# -- phases of a sweep: a vector has one number per chain ----------------------------------------------------------

Llvm = Any  # llvmlite's builder and values have no types
phase: Any = intrinsic  # its type would count the typing context as an argument of each call
INT32, INT64 = ir.IntType(32), ir.IntType(64)
DOUBLES, INT32S, INT64S = (ir.VectorType(kind, CHAINS) for kind in (ir.DoubleType(), INT32, INT64))
NOUGHT = ir.Constant(INT64, 0)
BYTES = {DOUBLES: 8, INT32S: 4, INT64S: 8}  # alignment of arrays


def _same(kind: ir.Type, value: float) -> ir.Constant:
    return ir.Constant(kind, [value] * CHAINS)


def _spread(builder: Llvm, value: Llvm, kind: ir.Type = DOUBLES) -> Llvm:
    """The same number for every chain."""
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, undefined, _same(INT32S, 0))


class _Memory:
    """An array argument of a phase: rows of eight numbers, one per chain."""

    def __init__(self, builder: Llvm, data: Llvm, kind: ir.Type) -> None:
        self._builder, self._data, self._kind = builder, data, kind

    def _row(self, index: Llvm) -> Llvm:
        place = self._builder.gep(self._data, [self._builder.mul(index, ir.Constant(INT64, CHAINS))])
        return self._builder.bitcast(place, self._kind.as_pointer())

    def load(self, index: Llvm = NOUGHT) -> Llvm:
        value = self._builder.load(self._row(index))
        value.align = BYTES[self._kind]
        return value

    def store(self, value: Llvm, index: Llvm = NOUGHT) -> None:
        self._builder.store(value, self._row(index)).align = BYTES[self._kind]

    def gather(self, topics: list[Llvm], first: Llvm = NOUGHT) -> Llvm:
        """For each chain, the number at its own topic; rows are counted from `first`."""
        result = ir.Constant(self._kind, ir.Undefined)
        for chain, topic in enumerate(topics):
            row = self._builder.mul(self._builder.add(first, topic), ir.Constant(INT64, CHAINS))
            place = self._builder.add(row, ir.Constant(INT64, chain))
            value = self._builder.load(self._builder.gep(self._data, [place]))
            result = self._builder.insert_element(result, value, ir.Constant(INT32, chain))
        return result

    def rows(self, topics: list[Llvm], first: Llvm = NOUGHT) -> list[Llvm]:
        """The whole row of each chain's topic."""
        return [self.load(self._builder.add(first, topic)) for topic in topics]

    def replace(self, rows: list[Llvm], topics: list[Llvm], first: Llvm = NOUGHT) -> None:
        """Store whole rows, so that the next load of a row does not wait for parts of it."""
        for row, topic in zip(rows, topics, strict=True):
            self.store(row, self._builder.add(first, topic))

    def scatter(self, values: Llvm, topics: list[Llvm]) -> None:
        for chain, topic in enumerate(topics):
            row = self._builder.mul(topic, ir.Constant(INT64, CHAINS))
            place = self._builder.add(row, ir.Constant(INT64, chain))
            value = self._builder.extract_element(values, ir.Constant(INT32, chain))
            self._builder.store(value, self._builder.gep(self._data, [place]))


def _opened(context: Any, builder: Llvm, signature: Any, arguments: Any) -> list[Any]:
    """The arguments of a phase: arrays as memory, numbers as they are."""
    kinds = {types.float64: DOUBLES, types.int32: INT32S, types.int64: INT64S, types.uint64: INT64S}
    return [
        _Memory(builder, context.make_array(kind)(context, builder, value).data, kinds[kind.dtype])
        if isinstance(kind, types.Array)
        else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def _own(builder: Llvm, rows: list[Llvm]) -> Llvm:
    """For each chain, its own number in its own row."""
    result = rows[0]
    for chain, row in enumerate(rows):
        of_both = [other + CHAINS * (other == chain) for other in range(CHAINS)]  # the result so far, then the row
        result = builder.shuffle_vector(result, row, ir.Constant(INT32S, of_both))
    return result


def _shift(builder: Llvm, by: int, token: list[Any], state: list[Any]) -> tuple[Llvm, Llvm]:
    """Counts of the token's topics += by; factor = (here + alpha) / (topic_total + total_eta) there.

    Returns the old values of term_topic and factor. All rows are loaded before any is stored, and chains that share a
    topic store the same row, so no load has to wait for a store of the same shift.
    """
    held, i = token
    by_term, first, by_document, totals, prior, eta, factors = state
    found = held.load(i)
    each = [builder.extract_element(found, ir.Constant(INT32, chain)) for chain in range(CHAINS)]
    shared = [builder.icmp_signed("==", found, _spread(builder, topic, INT32S)) for topic in each]
    topics = [builder.zext(topic, INT64) for topic in each]
    counts, before = by_term.rows(topics, first), factors.rows(topics)
    change = _same(DOUBLES, float(by))
    over = builder.fadd(by_document.gather(topics), change)
    under = builder.fadd(totals.gather(topics), change)
    by_document.scatter(over, topics)
    totals.scatter(under, topics)
    over = builder.fadd(over, prior.gather(topics))
    fresh = builder.fdiv(over, builder.fadd(under, _spread(builder, eta)))
    factors.replace([builder.select(chains, fresh, row) for chains, row in zip(shared, before, strict=True)], topics)
    moved = [builder.add(row, _same(INT32S, by)) for row in counts]
    by_term.replace([builder.select(*rows) for rows in zip(shared, moved, counts, strict=True)], topics, first)
    return _own(builder, counts), _own(builder, before)


@phase
def _take(
    typing_context: Any,
    assignments: Any,
    token: Any,
    term_topic: Any,
    row: Any,
    here: Any,
    topic_total: Any,
    alpha: Any,
    total_eta: Any,
    factor: Any,
    out: Any,
    whole: Any,
) -> Any:
    """The token leaves the counts; out = its topics, whole = factor there before"""

    def generate(context: Any, builder: Llvm, signature: Any, arguments: Any) -> Llvm:
        given = _opened(context, builder, signature, arguments)
        (held, i), state, (left, with_it) = given[:2], given[2:9], given[9:]
        left.store(held.load(i))
        with_it.store(_shift(builder, -1, [held, i], state)[1])
        return context.get_dummy_value()

    integer, number = types.int64, types.float64
    state = (term_topic, integer, here, topic_total, alpha, number, factor)
    return types.void(assignments, integer, *state, out, whole), generate


@phase
def _put(
    typing_context: Any,
    assignments: Any,
    token: Any,
    term_topic: Any,
    row: Any,
    here: Any,
    topic_total: Any,
    alpha: Any,
    total_eta: Any,
    factor: Any,
    product: Any,
    running: Any,
    most: Any,
    eta: Any,
    out: Any,
    whole: Any,
    again: Any,
) -> Any:
    """The token joins the counts; product *= the probability of its topic; returns whether one is about to underflow

    The probability is the one before the next token was taken out: if the next token had the same topic, factor was
    `whole`, and the count was larger by one if the term is the same `again`.
    """

    def generate(context: Any, builder: Llvm, signature: Any, arguments: Any) -> Llvm:
        given = _opened(context, builder, signature, arguments)
        (held, i), state, (products, sums, many, prior, left, with_it, repeated) = given[:2], given[2:9], given[9:]
        count, before = _shift(builder, 1, [held, i], state)
        same = builder.icmp_signed("==", held.load(i), left.load())
        one_more = builder.add(count, _spread(builder, builder.zext(repeated, INT32), INT32S))
        count = builder.sitofp(builder.select(same, one_more, count), DOUBLES)
        before = builder.select(same, with_it.load(), before)
        weight = builder.fmul(builder.fadd(count, _spread(builder, prior)), before)
        total = sums.load(builder.sub(many, ir.Constant(INT64, 1)))
        result = builder.fmul(products.load(), builder.fdiv(weight, total))
        products.store(result)
        small = builder.fcmp_ordered("<", result, _same(DOUBLES, SMALLEST))
        return builder.icmp_unsigned("!=", builder.bitcast(small, ir.IntType(8)), ir.Constant(ir.IntType(8), 0))

    integer, number = types.int64, types.float64
    state = (term_topic, integer, here, topic_total, alpha, number, factor)
    probability = (product, running, integer, number, out, whole, types.boolean)
    return types.boolean(assignments, integer, *state, *probability), generate


@phase
def _add_up(typing_context: Any, term_topic: Any, row: Any, most: Any, eta: Any, factor: Any, running: Any) -> Any:
    """running[t] = sum over s <= t of (term_topic[row + s] + eta) * factor[s]"""

    def generate(context: Any, builder: Llvm, signature: Any, arguments: Any) -> Llvm:
        counts, first, many, prior, factors, sums = _opened(context, builder, signature, arguments)
        prior = _spread(builder, prior)
        total = cgutils.alloca_once_value(builder, _same(DOUBLES, 0.0))
        with cgutils.for_range(builder, many) as loop:
            count = builder.sitofp(counts.load(builder.add(first, loop.index)), DOUBLES)
            weight = builder.fmul(builder.fadd(count, prior), factors.load(loop.index))
            builder.store(builder.fadd(builder.load(total), weight), total)
            sums.store(builder.load(total), loop.index)
        return context.get_dummy_value()

    return types.void(term_topic, types.int64, types.int64, types.float64, factor, running), generate


@phase
def _draw(typing_context: Any, running: Any, most: Any, words: Any, assignments: Any, token: Any) -> Any:
    """assignments[token] = the first topic whose running sum is above uniform(words) * (the sum of all)"""

    def generate(context: Any, builder: Llvm, signature: Any, arguments: Any) -> Llvm:
        sums, many, state, held, i = _opened(context, builder, signature, arguments)
        final = builder.sub(many, ir.Constant(INT64, 1))
        threshold = builder.fmul(_uniform(builder, state), sums.load(final))
        below = cgutils.alloca_once_value(builder, _same(INT32S, 0))
        with cgutils.for_range(builder, final) as loop:
            passed = builder.zext(builder.fcmp_ordered("<=", sums.load(loop.index), threshold), INT32S)
            builder.store(builder.add(builder.load(below), passed), below)
        held.store(builder.load(below), i)
        return context.get_dummy_value()

    return types.void(running, types.int64, words, assignments, types.int64), generate


def _uniform(builder: Llvm, state: _Memory) -> Llvm:
    """`lda.uniforms.uniform`, for every chain."""
    first, second, third, fourth = (state.load(ir.Constant(INT64, word)) for word in range(4))
    result = builder.add(first, fourth)
    shifted = builder.shl(second, _same(INT64S, 17))
    third, fourth = builder.xor(third, first), builder.xor(fourth, second)
    second, first = builder.xor(second, third), builder.xor(first, fourth)
    third = builder.xor(third, shifted)
    fourth = builder.or_(builder.shl(fourth, _same(INT64S, 45)), builder.lshr(fourth, _same(INT64S, 19)))
    for word, value in enumerate((first, second, third, fourth)):
        state.store(value, ir.Constant(INT64, word))
    whole = builder.sitofp(builder.lshr(result, _same(INT64S, 11)), DOUBLES)
    return builder.fmul(whole, _same(DOUBLES, 1.0 / 9007199254740992.0))
