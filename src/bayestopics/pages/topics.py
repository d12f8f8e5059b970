"""The topics of a result as a report shows them: terms, sizes, a map, documents.

A topic has its number in the record, so that the report, the command line and the tables speak of the same topics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayestopics.base.wording import visible
from bayestopics.corpus.corpus import Corpus
from bayestopics.runs.draws import Moments
from bayestopics.runs.topics_result import TopicsResult

# what is put into the file, so that it stays small for large corpora
SHOWN_TERMS = 30  # of a topic, for each lambda
LAMBDAS = np.linspace(0, 1, 21)  # the steps of the slider
USUAL_LAMBDA = 0.6  # what people found easiest to name topics by (Sievert & Shirley 2014)
FOUND_TERMS = 10_000  # that the search knows
TOPICS_OF_A_TERM = 3
DOCUMENTS = 2000
EXAMPLES = 8  # documents of a topic
TOPICS_OF_A_DOCUMENT = 5
LONGEST = 120  # characters of a title, a label or another value


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics that hold tokens, in the order of the record."""

    beta: np.ndarray  # T x V
    share: np.ndarray  # of the tokens, T
    theta: Moments  # D x T
    trust: dict[int, dict[str, Any]]  # how the other chains reproduce a topic, where that is known
    source: str  # where the topics come from, in a sentence

    def __len__(self) -> int:
        return len(self.share)

    @property
    def by_size(self) -> list[int]:
        return [int(topic) for topic in np.argsort(-self.share, kind="stable")]


def topics_of(result: TopicsResult) -> Topics:
    """Topics without a token are left out."""
    table, listed = result.tables["documents"], result.listed
    used = np.isin(np.arange(result.topic_count), [one["topic"] for one in listed])
    deviation = table[[f"topic_{t}_sd" for t in range(result.topic_count)]].to_numpy()
    return Topics(
        beta=result.beta()[used],
        share=result.tables["shares"]["share"].to_numpy()[used],
        theta=Moments(result.theta[:, used], deviation[:, used]),
        trust={one["topic"]: one for one in listed if "chains" in one},
        source=f"The topics are those of {result.answer['topics_of']}.",
    )


# -- terms -----------------------------------------------------------------------------------------------


def relevant(beta: np.ndarray, frequency: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The terms of one topic that are among the SHOWN_TERMS most relevant ones for some lambda of the slider.

    The relevance of a term is lambda log beta_v + (1 - lambda) log(beta_v / p_v), with p_v its share of the tokens
    (Sievert & Shirley 2014). Terms that the topic is not expected to hold are left out.
    """
    there = np.flatnonzero((expected >= 0.5) & (frequency > 0))
    if not len(there):
        there = np.argsort(-beta, kind="stable")[:SHOWN_TERMS]
    log_beta = np.log(beta[there])
    lift = log_beta - np.log(np.maximum(frequency[there], 1) / frequency.sum())
    found = [np.argsort(-(one * log_beta + (1 - one) * lift), kind="stable")[:SHOWN_TERMS] for one in LAMBDAS]
    kept = np.unique(np.concatenate(found))
    order = np.argsort(-(USUAL_LAMBDA * log_beta + (1 - USUAL_LAMBDA) * lift)[kept], kind="stable")
    return np.asarray(there[kept[order]])


def term_data(topics: Topics, corpus: Corpus) -> dict[str, Any]:
    """The terms for the slider and for the search. In `topics`, a term is its place in `names`."""
    frequency = np.bincount(corpus.terms, minlength=corpus.term_count)
    shown = [
        relevant(topics.beta[t], frequency, topics.beta[t] * topics.share[t] * corpus.token_count)
        for t in range(len(topics))
    ]
    frequent = np.argsort(-frequency, kind="stable")[:FOUND_TERMS]
    terms = np.unique(np.concatenate([*shown, frequent]))
    place = np.full(corpus.term_count, -1)
    place[terms] = np.arange(len(terms))
    of_term = topics.beta[:, terms] * topics.share[:, None]  # p(topic | term), up to a constant
    of_term = of_term / of_term.sum(axis=0)
    best = np.argsort(-of_term, axis=0, kind="stable")[:TOPICS_OF_A_TERM]
    return {
        "names": [short(corpus.vocabulary[v]) for v in terms],
        "counts": frequency[terms].tolist(),
        "best": best.T.tolist(),
        "best_shares": rounded(np.take_along_axis(of_term, best, axis=0).T),
        "topics": [place[one].tolist() for one in shown],
        "beta": [significant(topics.beta[t, one]) for t, one in enumerate(shown)],
        "tokens": corpus.token_count,
    }


def names(terms: dict[str, Any], words: int = 3) -> list[str]:
    """Each topic by its most relevant words."""
    return [", ".join(terms["names"][place] for place in places[:words]) for places in terms["topics"]]


# -- the map ---------------------------------------------------------------------------------------------


NEAREST = 5


def distances(beta: np.ndarray) -> np.ndarray:
    """The Hellinger distances between topics, the root of 1 - sum_v sqrt(beta_tv beta_uv)."""
    roots = np.sqrt(beta / beta.sum(axis=1, keepdims=True))
    found = np.sqrt(np.clip(1 - roots @ roots.T, 0.0, None))
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def layout(between: np.ndarray) -> tuple[np.ndarray, float]:
    """Classical scaling of the distances: (places of the topics in two dimensions, T x 2; the share of the squared
    distances that they show)."""
    squared = np.square(between)
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    values, vectors = np.clip(values[::-1], 0.0, None), vectors[:, ::-1]
    axes = vectors[:, :2] * np.sqrt(values[:2])
    largest = axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])]
    places = np.zeros((len(between), 2))
    places[:, : axes.shape[1]] = axes * np.where(largest < 0, -1, 1)  # the sign of an axis has no meaning
    return places, float(values[:2].sum() / values.sum()) if values.sum() > 0 else 1.0


def nearest(between: np.ndarray) -> list[list[list[float]]]:
    """For each topic the others that are nearest, with their distances."""
    order = np.argsort(between + 2 * np.eye(len(between)), axis=1, kind="stable")[:, :NEAREST]
    return [[[int(u), round(float(between[t, u]), 4)] for u in some if u != t] for t, some in enumerate(order)]


# -- documents -------------------------------------------------------------------------------------------


def examples(topics: Topics, corpus: Corpus) -> list[list[int]]:
    """For each topic the documents that are surely about it: with the largest shares after one standard deviation is
    taken off, so that a document of two words is no example."""
    filled = corpus.document_lengths > 0
    sure = np.where(filled[:, None], topics.theta.mean - topics.theta.deviation, -1.0)
    order = np.argsort(-sure, axis=0, kind="stable")[: min(EXAMPLES, int(filled.sum()))]
    return [order[:, t].tolist() for t in range(len(topics))]


def document_data(topics: Topics, corpus: Corpus) -> dict[str, Any]:
    """All examples and, as far as there is room, other documents that are evenly spread over the corpus."""
    of_topics = examples(topics, corpus)
    chosen = {one for some in of_topics for one in some}
    room = max(0, DOCUMENTS - len(chosen))
    others = sorted(set(range(corpus.document_count)) - chosen)
    chosen |= {others[place] for place in np.linspace(0, len(others) - 1, min(room, len(others))).round().astype(int)}
    listed = sorted(chosen)
    place = {document: number for number, document in enumerate(listed)}
    best = np.argsort(-topics.theta.mean[listed], axis=1, kind="stable")[:, :TOPICS_OF_A_DOCUMENT]
    column = title_column(corpus)
    return {
        "titles": [_title(corpus, one, column) for one in listed],
        "about": [_about(corpus, one, column) for one in listed],
        "texts": None if corpus.excerpts is None else [visible(corpus.excerpts[one]) for one in listed],
        "tokens": corpus.document_lengths[listed].tolist(),
        "best": best.tolist(),
        "best_shares": rounded(np.take_along_axis(topics.theta.mean[listed], best, axis=1)),
        "examples": [[place[one] for one in some] for some in of_topics],
        "left_out": corpus.document_count - len(listed),
    }


TITLES = ("title", "headline", "subject", "name", "file", "id", "article_id", "document_id", "doc_id")


def title_column(corpus: Corpus) -> Any:
    """The column of the metadata that names the documents, or None."""
    called = {} if corpus.metadata is None else {str(name).lower(): name for name in corpus.metadata}
    return next((called[title] for title in TITLES if title in called), None)


def _title(corpus: Corpus, document: int, column: Any) -> str:
    value = None if corpus.metadata is None or column is None else corpus.metadata[column].iloc[document]
    return f"document {document}" if _missing(value) else short(value)


def _about(corpus: Corpus, document: int, column: Any) -> str:
    """In one line: its label and what else is known about a document than its title."""
    known = [] if column is None else [f"document {document}"]
    rest = {} if corpus.metadata is None else corpus.metadata.iloc[document].drop(column or []).to_dict()
    if corpus.labels is not None and "label" not in rest:
        rest = {"label": corpus.labels[document], **rest}
    known += [f"{short(name, 30)}: {short(value, 60)}" for name, value in rest.items() if not _missing(value)]
    return "; ".join(known[:8])


def _missing(value: Any) -> bool:
    return value is None or value != value or str(value).strip() in ("", "<NA>", "NaT")


def short(value: Any, most: int = LONGEST) -> str:
    """Foreign text that can be shown, and cut if it is long."""
    text = visible(str(value)[: most + 1])
    return text if len(text) <= most else f"{text[: most - 3]}..."


def rounded(values: np.ndarray) -> list[Any]:
    return np.round(values, 4).tolist()


def significant(values: np.ndarray) -> list[float]:
    """With four digits, which is more than is known."""
    return [float(f"{value:.4g}") for value in values]
