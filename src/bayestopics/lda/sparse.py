"""Sparse single-site collapsed Gibbs: the same transition law as `single-site`, at a cost that hardly depends on T.

The weight of topic t (see `dense`) is the sum of two parts, minor_t * factor[t] + prior_t * factor[t]. Few topics occur
in a row of minor counts, so the first part is a short list per row. The second part is the same for all tokens of a
document; it is kept in a tree of sums (the F+ tree of Yu et al. 2015), in which one topic is drawn or changed in
log2 T steps. When tokens are visited by document, the rows are those of the terms, which are shorter than those of the
documents on our corpora.
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.lda.dense import CANCELLED
from bayestopics.lda.state import State, random_start, scan
from bayestopics.lda.transition import Info
from bayestopics.lda.uniforms import NO_WORDS, new_words, uniform

init = random_start


def sweep(state: State, rng: np.random.Generator, order: str = "document") -> Info:
    """Update every assignment once, in place."""
    return Info(scan(_sweep, state, order, None, new_words(rng)))


def transition_density(state: State, target: np.ndarray, order: str = "document") -> float:
    """log g(z, target), the same as for `single-site` in the same order. The state is unchanged."""
    return scan(_sweep, state.copy(), order, state.target(target), NO_WORDS)


# -- rows as lists ---------------------------------------------------------------------------------


@kernel
def _to_lists(minor: np.ndarray, minor_topic: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(offsets, lengths, entries): row b consists of `lengths[b]` (topic, count) pairs, from entries[offsets[b]] on.

    A row has room for one topic per token, and one more because a token enters its new topic before it leaves the old.
    """
    rows, topics = minor_topic.shape
    room = np.ones(rows, np.int64)
    for b in minor:
        room[b] += 1
    offsets = np.zeros(rows + 1, np.int64)
    for b in range(rows):
        offsets[b + 1] = offsets[b] + min(room[b], topics + 1)
    lengths = np.zeros(rows, np.int64)
    entries = np.empty((offsets[rows], 2), np.uint32)
    for b in range(rows):
        j = offsets[b]
        for t in range(topics):
            if minor_topic[b, t] > 0:
                entries[j, 0], entries[j, 1] = t, minor_topic[b, t]
                j += 1
        lengths[b] = j - offsets[b]
    return offsets, lengths, entries


@kernel
def _from_lists(offsets: np.ndarray, lengths: np.ndarray, entries: np.ndarray, minor_topic: np.ndarray) -> None:
    minor_topic[:] = 0
    for b in range(len(lengths)):
        for j in range(offsets[b], offsets[b] + lengths[b]):
            minor_topic[b, entries[j, 0]] = entries[j, 1]


# -- the tree: node k has the children 2k and 2k + 1, the root is 1, topic t is the leaf half + t ----


@kernel
def _build(tree: np.ndarray) -> None:
    for node in range(len(tree) // 2 - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@kernel
def _set_two(tree: np.ndarray, first: int, first_value: float, second: int, second_value: float) -> None:
    """Change two different leaves, following both paths to the root at once until they meet."""
    half = len(tree) // 2
    p, q = half + first, half + second
    tree[p], tree[q] = first_value, second_value
    p, q = p // 2, q // 2
    while p != q:
        left, right = tree[2 * p] + tree[2 * p + 1], tree[2 * q] + tree[2 * q + 1]
        tree[p], tree[q] = left, right
        p, q = p // 2, q // 2
    while p > 0:
        tree[p] = tree[2 * p] + tree[2 * p + 1]
        p //= 2


@kernel
def _sum_of_others(tree: np.ndarray, old: int) -> float:
    """The sum of all leaves but one: the sum of the siblings on its way to the root."""
    node, total = len(tree) // 2 + int(old), 0.0
    while node > 1:
        total += tree[node ^ 1]
        node //= 2
    return total


@kernel
def _draw_other(tree: np.ndarray, old: int, words: np.ndarray) -> int:
    """Draw a leaf other than `old`, with probability proportional to its value; `old` is removed from the tree."""
    half = len(tree) // 2
    node = half + old
    tree[node] = 0.0
    while node > 1:
        node //= 2
        tree[node] = tree[2 * node] + tree[2 * node + 1]
    while True:
        threshold = uniform(words) * tree[1]
        node = 1
        while node < half:
            node *= 2
            left = tree[node]
            right = threshold >= left
            threshold -= left if right else 0.0
            node += 1 if right else 0
        if tree[node] > 0.0:  # an empty leaf may be reached by rounding
            return node - half


# -- a sweep ---------------------------------------------------------------------------------------


@kernel
def _sweep(
    major: np.ndarray,
    minor: np.ndarray,
    major_topic: np.ndarray,
    minor_topic: np.ndarray,
    topic_total: np.ndarray,
    major_prior: np.ndarray,
    minor_prior: np.ndarray,
    total_eta: float,
    assignments: np.ndarray,
    target: np.ndarray | None,
    words: np.ndarray,
) -> float:
    """One sweep, drawn, or forced to `target`; returns log g."""
    topics = len(topic_total)
    half = 1
    while half < topics:
        half *= 2
    tree, factor = np.zeros(2 * half), np.empty(topics)
    offsets, lengths, entries = _to_lists(minor, minor_topic)
    log_g, product, current = 0.0, 1.0, -1
    for i in range(len(assignments)):
        a, b = major[i], minor[i]
        if a != current:
            current = a
            for t in range(topics):
                factor[t] = (major_topic[a, t] + major_prior[t]) / (topic_total[t] + total_eta)
                tree[half + t] = minor_prior[t] * factor[t]
            _build(tree)
        old = assignments[i]
        start, end = offsets[b], offsets[b] + lengths[b]
        # weights of the topics in the row, with the token counted
        present, at = 0.0, start
        for j in range(start, end):
            t = entries[j, 0]
            present += entries[j, 1] * factor[t]
            at = j if t == old else at
        # the weight of its own topic, without the token
        own = (major_topic[a, old] - 1 + major_prior[old]) / (topic_total[old] - 1 + total_eta)
        chosen = (entries[at, 1] - 1 + minor_prior[old]) * own
        with_token = present + tree[1]
        others = with_token - (entries[at, 1] + minor_prior[old]) * factor[old]
        if others < CANCELLED * with_token:
            others = _sum_of_others(tree, old)
            for j in range(start, end):
                others += entries[j, 1] * factor[entries[j, 0]] if j != at else 0.0
        mass = others + chosen
        new, to = old, -1
        if target is not None:
            new = target[i]
        else:
            threshold = uniform(words) * mass - chosen
            if threshold >= 0.0:  # it moves: to a topic of the row, or by the tree
                for j in range(start, end):
                    if j != at:
                        threshold -= entries[j, 1] * factor[entries[j, 0]]
                        if threshold < 0.0:
                            new, to = entries[j, 0], j
                            break
                if threshold >= 0.0:
                    new = np.uint32(_draw_other(tree, old, words))
        if new != old:
            if to < 0:  # find the entry of the new topic
                to = end
                for j in range(start, end):
                    to = j if entries[j, 0] == new else to
                if to == end:
                    entries[end, 0], entries[end, 1] = new, 0
                    end += 1
            chosen = (entries[to, 1] + minor_prior[new]) * factor[new]
            entries[to, 1] += 1
            entries[at, 1] -= 1
            if entries[at, 1] == 0:
                end -= 1
                entries[at, 0], entries[at, 1] = entries[end, 0], entries[end, 1]
            lengths[b] = end - start
            assignments[i] = new
            major_topic[a, old] -= 1
            major_topic[a, new] += 1
            topic_total[old] -= 1
            topic_total[new] += 1
            factor[old] = own
            factor[new] = (major_topic[a, new] + major_prior[new]) / (topic_total[new] + total_eta)
            _set_two(tree, old, minor_prior[old] * own, new, minor_prior[new] * factor[new])
        product *= chosen / mass
        if product < 1e-100:
            log_g += math.log(product)
            product = 1.0
    _from_lists(offsets, lengths, entries, minor_topic)
    return log_g + math.log(product)
