"""A demo corpus: short invented reports on five subjects, with dates, so that the first steps need no file.

The words are real and the documents are drawn from LDA, so the right answer is known: five topics. Two subjects change
over the year.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

SUBJECTS = {
    "sea": "whale ship wave harbour captain sail storm fish island anchor tide coast sailor deck net crew lighthouse",
    "kitchen": "bread flour oven butter sugar recipe cook onion pepper soup dinner salt knife plate cheese dough pan",
    "football": "goal match team coach player league season defender penalty referee stadium score ball club cup fans",
    "sky": "star planet telescope orbit moon galaxy comet light rocket satellite astronomer eclipse gravity dust sun",
    "court": "judge law trial lawyer jury witness verdict crime sentence evidence appeal police prison case court",
}
COMMON = ("day", "people", "year", "time", "city", "report", "morning", "week", "story", "news", "house", "water")
GLUE = ("the {}", "and {}", "of the {}", "{}")  # so that the texts have stop words
SHARE_OF_COMMON = 0.15  # of the words of every subject
ALPHA, LENGTH = 0.15, 60  # most documents have one or two subjects


def demo_texts(documents: int = 300, seed: int = 1) -> pd.DataFrame:
    """Invented reports with dates, of which five topics are the right answer.

    Parameters
    ----------
    documents : int
        The number of reports.
    seed : int
        The seed of the random numbers.

    Returns
    -------
    pandas.DataFrame
        ``text``, ``date`` (days of one year) and ``subject``, the subject with the largest share. `Corpus.from_texts`
        takes such a table.

    Examples
    --------
    >>> from bayestopics import Corpus, demo_texts
    >>> table = demo_texts(documents=50)
    >>> table.columns.tolist()
    ['date', 'subject', 'text']
    >>> Corpus.from_texts(table).document_count
    50
    """
    rng = np.random.default_rng(seed)
    names = list(SUBJECTS)
    words = {name: own.split() for name, own in SUBJECTS.items()}
    weights = {name: rng.dirichlet(np.full(len(own), 2.0)) for name, own in words.items()}
    rows = []
    for number in range(documents):
        part = number / max(1, documents - 1)  # of the year
        # football is for the winter, the sea for the summer; a subject always keeps some weight
        season = np.array([0.3 + np.sin(np.pi * part), 1.0, 0.3 + np.cos(np.pi * part) ** 2, 1.0, 1.0])
        shares = rng.dirichlet(ALPHA * season)
        text = []
        for subject in rng.choice(len(names), LENGTH, p=shares):
            name = names[subject]
            common = rng.random() < SHARE_OF_COMMON
            word = rng.choice(COMMON) if common else rng.choice(words[name], p=weights[name])
            text.append(GLUE[rng.integers(len(GLUE))].format(word))
        date = pd.Timestamp("2025-01-01") + pd.Timedelta(days=int(364 * part))
        rows.append({"date": f"{date:%Y-%m-%d}", "subject": names[int(np.argmax(shares))], "text": " ".join(text)})
    return pd.DataFrame(rows)
