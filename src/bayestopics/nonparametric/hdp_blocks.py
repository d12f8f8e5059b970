"""Moves of whole blocks for the truncation-free HDP, and the tables after them. A block is all tokens of a document in
one topic.

A block moves from its topic to one that the document does not have, or to a new one, by its conditional distribution.
This is a Gibbs step on the topic of a set of tokens that the step itself does not change. So topics are born with many
words, as in the DP mixture. With block size m, topic k has the weight
    prod_{i<m} (b pi_k + i) / (sum_v lambda_kv + i)  prod_w lambda_kw (lambda_kw + 1) ... (lambda_kw + c_w - 1).
A new topic needs a pi_k: a stick is drawn from Beta(1, a) for this choice, and the first factor b pi_k becomes
b (1 - sum pi), the mass of all unseen topics (Neal 2000, algorithm 8, with one auxiliary component). A block that is
alone in a new topic keeps the topic's stick.
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.lda.uniforms import uniform
from bayestopics.nonparametric.antoniak import draw_tables
from bayestopics.nonparametric.components import Lists, place_in_list


@kernel
def empty_slot(old: int, members: np.ndarray) -> int:
    for k in range(old, len(members)):
        if members[k] == 0:
            return k
    return len(members)


@kernel
def _block_weights(
    block: np.ndarray,
    lists: Lists,
    totals: np.ndarray,
    pi: np.ndarray,
    concentration: float,
    eta: float,
    factors: int,
    log_weights: np.ndarray,
) -> None:
    """The log weight of every topic; block[i] is the row of token i, and equal rows are side by side."""
    slots = len(totals)
    product = np.ones(slots)
    log_weights[:slots] = 0.0
    repeat = 0
    for i in range(len(block)):
        repeat = repeat + 1 if i > 0 and block[i] == block[i - 1] else 0
        least = eta + repeat  # for a topic that has not had the term
        if i == 0:
            for k in range(slots):
                product[k] = least / totals[k]
        else:
            for k in range(slots):
                product[k] *= least * (concentration * pi[k] + i) / (totals[k] + i)
        for j in range(lists.starts[block[i]], lists.ends[block[i]]):
            product[lists.components[j]] *= 1.0 + lists.excess[j] / least
        if i % factors == factors - 1:
            for k in range(slots):
                log_weights[k] += math.log(product[k])
                product[k] = 1.0
    for k in range(slots):
        if pi[k] > 0.0:
            log_weights[k] += math.log(product[k]) + math.log(concentration * pi[k])
        else:
            log_weights[k] = -np.inf


@kernel
def _weight_of_new(
    block: np.ndarray, unseen: float, pi: float, concentration: float, eta: float, total_eta: float
) -> float:
    result, repeat = 0.0, 0
    for i in range(len(block)):
        repeat = repeat + 1 if i > 0 and block[i] == block[i - 1] else 0
        first = concentration * unseen if i == 0 else concentration * pi + i
        result += math.log(first * (eta + repeat) / (total_eta + i)) if first > 0.0 else -np.inf
    return result


@kernel
def _choose(log_weights: np.ndarray, words: np.ndarray) -> int:
    largest, mass = log_weights.max(), 0.0
    for k in range(len(log_weights)):
        log_weights[k] = math.exp(log_weights[k] - largest)
        mass += log_weights[k]
    threshold, chosen = uniform(words) * mass, 0
    for k in range(len(log_weights)):
        if log_weights[k] > 0.0:
            chosen = k
            threshold -= log_weights[k]
            if threshold < 0.0:
                break
    return chosen


@kernel
def finish_documents(
    start: int,
    tokens: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    lists: Lists,
    totals: np.ndarray,
    members: np.ndarray,
    tables: np.ndarray,
    pi: np.ndarray,
    unseen: np.ndarray,
    constants: tuple[int, float, float, float, float, int, bool],
    words: np.ndarray,
) -> int:
    """Move the blocks of the documents from `start` on, if `blocks`, and draw their tables; returns the first document
    whose topics had no room.
    """
    token_offsets, row_of, z, place = tokens
    old, gamma, concentration, eta, total_eta, factors, blocks = constants
    slots = len(members)
    in_document, topics = np.zeros(slots, np.int64), np.empty(slots, np.int64)
    log_weights = np.empty(slots + 1)
    for d in range(start, len(token_offsets) - 1):
        begin, end = token_offsets[d], token_offsets[d + 1]
        count, free = 0, 0
        for i in range(begin, end):
            if in_document[z[i]] == 0:
                topics[count] = z[i]
                count += 1
            in_document[z[i]] += 1
        for k in range(old, slots):
            free += members[k] == 0
        if blocks and free < count:  # before anything is drawn
            return d
        moved, block = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
        for j in range(count if blocks else 0):
            # take it out of its topic
            k, size = topics[j], 0
            for i in range(begin, end):
                if z[i] == k:
                    moved[size], block[size] = i, row_of[i]
                    lists.excess[place[i]] -= 1.0
                    size += 1
            totals[k] -= size
            members[k] -= size
            in_document[k] = 0
            # a stick for a new topic; if k has just lost all its tokens, k is the new topic
            new = k
            if k >= old and members[k] == 0:
                unseen[0] += pi[k]
            else:
                new = empty_slot(old, members)
                pi[new] = unseen[0] * (1.0 - (1.0 - uniform(words)) ** (1.0 / gamma))
            _block_weights(block[:size], lists, totals, pi, concentration, eta, factors, log_weights)
            for t in range(count):
                if in_document[topics[t]] > 0:
                    log_weights[topics[t]] = -np.inf
            log_weights[new] = -np.inf
            log_weights[slots] = _weight_of_new(block[:size], unseen[0], pi[new], concentration, eta, total_eta)
            chosen = _choose(log_weights, words)
            if chosen == slots:
                chosen = new
                unseen[0] = max(unseen[0] - pi[new], 0.0)
            else:
                pi[new] = 0.0
            # put it into its topic
            for i in moved[:size]:
                z[i], place[i] = chosen, place_in_list(row_of[i], chosen, lists)
                lists.excess[place[i]] += 1.0
            totals[chosen] += size
            members[chosen] += size
            in_document[chosen] = size
            topics[j] = chosen
        for j in range(count):
            tables[topics[j]] += draw_tables(in_document[topics[j]], concentration * pi[topics[j]], words)
            in_document[topics[j]] = 0
    return len(token_offsets) - 1
