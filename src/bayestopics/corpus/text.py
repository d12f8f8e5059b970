"""From texts to counts: tokens, stop words, n-grams and pruning.

scikit-learn's CountVectorizer takes the texts apart and counts. By default a token is a run of three or more letters of
any script, in lower case; digits, punctuation and underscores separate tokens. Pruning then drops terms that are rare,
or that occur in too few or too many documents. Documents that lose all their tokens are kept as empty documents, so
that labels and order do not change.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from bayestopics.base.files import read_lines
from bayestopics.base.problems import InputError
from bayestopics.corpus.stopwords import ENGLISH, OTHERS

TOKEN = r"[^\W\d_]{3,}"
# with fewer documents, a term that occurs in only one of them, or in more than half, says little about the term
ENOUGH_TO_PRUNE = 100


@dataclass(frozen=True)
class Pruning:
    """Which terms of texts to keep.

    Parameters
    ----------
    stop_words : str, or words
        ``"english"``, ``"none"``, the path of a file with one word per line, or the code of a language such as
        ``"de"`` if the package stopwordsiso is installed; or the words themselves.
    min_documents : int or float, optional
        A term must occur in at least this many documents; a number below 1 is a share of the documents. By default, 2
        for corpora of 100 documents or more, and 1 for smaller ones.
    max_documents : int or float, optional
        A term may occur in at most this many documents; a number up to 1 is a share of the documents. By default, 0.5
        for corpora of 100 documents or more, and 1 (all of them) for smaller ones.
    min_count : int
        A term must occur at least this often in all documents together.
    token_pattern : str
        A regular expression that matches a token in lower-case text; by default, three or more letters.
    ngrams : pair of int
        The shortest and the longest sequence of tokens that counts as a term: ``(1, 2)`` for words and pairs of words.
        Stop words are left out before pairs are made.
    tokenizer : callable, optional
        A function that returns the tokens of a text, instead of `token_pattern`. It is given the text as it is, with
        capital letters.

    Examples
    --------
    >>> from bayestopics import Corpus, Pruning
    >>> texts = ["The owl hunts.", "The owl sleeps.", "The whale sleeps."]
    >>> Corpus.from_texts(texts, pruning=Pruning(min_documents=2)).vocabulary
    ('owl', 'sleeps')
    >>> Corpus.from_texts(texts, pruning=Pruning(ngrams=(2, 2))).vocabulary
    ('owl hunts', 'owl sleeps', 'whale sleeps')
    """

    stop_words: str | Collection[str] = "english"
    min_documents: int | float | None = None
    max_documents: int | float | None = None
    min_count: int = 1
    token_pattern: str = TOKEN
    ngrams: tuple[int, int] = (1, 1)
    tokenizer: Callable[[Any], Iterable[str]] | None = None

    def __post_init__(self) -> None:
        for what, limit in (("smallest", self.min_documents), ("largest", self.max_documents)):
            if limit is not None and not (0 < limit <= 1 or (limit > 1 and float(limit).is_integer())):
                raise InputError(
                    f"the {what} number of documents of a term, {limit}, is no whole number and no share in (0, 1]"
                )
        if not 1 <= self.ngrams[0] <= self.ngrams[1]:
            raise InputError(f"n-grams of {self.ngrams[0]} to {self.ngrams[1]} tokens make no sense; write (1, 2)")
        try:
            groups = re.compile(self.token_pattern).groups
        except re.error as error:
            raise InputError(
                f"the token pattern {self.token_pattern!r} is not a regular expression ({error})"
            ) from None
        if groups > 1:
            raise InputError(f"the token pattern {self.token_pattern!r} has {groups} groups; write (?:...) for a group")

    @property
    def plain(self) -> bool:
        """Nothing was said about what a token is."""
        return self.tokenizer is None and self.token_pattern == TOKEN

    def limits(self, documents: int) -> tuple[float, float]:
        """The smallest and largest number of documents of a term, each a number or a share."""
        enough = documents >= ENOUGH_TO_PRUNE
        least = self.min_documents if self.min_documents is not None else 2 if enough else 1
        most = self.max_documents if self.max_documents is not None else 0.5 if enough else 1.0
        return least, most


def stop_words(choice: str | Collection[str]) -> frozenset[str]:
    if not isinstance(choice, str):
        return frozenset(word.lower() for word in choice)
    if choice == "none":
        return frozenset()
    if choice == "english":
        return ENGLISH
    if Path(choice).exists():
        return frozenset(line.strip().lower() for line in read_lines(Path(choice)))
    if re.fullmatch("[a-z]{2}", choice):
        return _stop_words_of_language(choice)
    raise InputError(
        f"stop words {choice}: no such file; write english, none, the name of a file with one word per line, or the "
        "code of a language, such as de"
    )


def _stop_words_of_language(code: str) -> frozenset[str]:
    try:
        import stopwordsiso
    except ModuleNotFoundError:
        raise InputError(
            f"stop words {code}: for other languages than English, the Python package stopwordsiso is needed, and it "
            "is not installed; install it, or give a file with one word per line"
        ) from None
    if not stopwordsiso.has_lang(code):
        known = ", ".join(sorted(stopwordsiso.langs()))
        raise InputError(f"stop words {code}: the package stopwordsiso does not know this language; it knows {known}")
    return frozenset(stopwordsiso.stopwords(code))


LOOKED_AT = 200_000  # characters, from all parts of the texts
FEWEST_WORDS = 300  # with fewer words, shares say little
# English texts have 25 % (tweets) to 45 % of these words, and texts without stop words up to about 1 %
FEW_ENGLISH, CLEARLY_OTHER = 0.02, 0.05


def language_note(texts: Sequence[Any], choice: str | Collection[str], name: str) -> str | None:
    """A note if English stop words are left out of texts that seem to be in another language."""
    if choice != "english" or not all(isinstance(text, str) for text in texts):
        return None
    each = max(1, LOOKED_AT // len(texts))
    words = re.findall(r"[^\W\d_]+", " ".join(text[:each] for text in texts[: LOOKED_AT // 10]).lower())
    if len(words) < FEWEST_WORDS:
        return None

    def share(known: Collection[str]) -> float:
        return sum(word in known for word in words) / len(words)

    english = share(ENGLISH)
    other, language, code = max((share(frozenset(own.split())), one, code) for one, (code, own) in OTHERS.items())
    if other > max(english, CLEARLY_OTHER):
        return (
            f"{name}: the texts seem to be in {language}, but the stop words are English, so the topics will be full "
            f"of words such as articles. Use --stop-words {code} (needs the package stopwordsiso) or a file of stop "
            f"words: {other:.0%} of the words are common words of {language}, {english:.0%} are English stop words"
        )
    if english < FEW_ENGLISH:
        return (
            f"{name}: are the texts in another language than English? Then name its stop words (--stop-words); if the "
            f"stop words have been removed already, all is well: {english:.1%} of the words are English stop words"
        )
    return None


# Thai, Lao, Burmese, Khmer, kana and Chinese characters: scripts that have no spaces between words
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f]+"
)
LONGEST_WORD = 6  # letters, on average: words of these scripts have 1.5 (Chinese) to 5 (Thai), and clauses 8 or more


def unspaced(texts: Sequence[Any]) -> float | None:
    """The mean length of unbroken sequences of letters in such a script; None if the texts are in another one."""
    if not all(isinstance(text, str) for text in texts):
        return None
    each = max(1, LOOKED_AT // max(1, len(texts)))
    sample = " ".join(text[:each] for text in texts[: LOOKED_AT // 10])
    runs = UNSPACED.findall(sample)
    letters = sum(map(len, runs))
    return letters / len(runs) if runs and 2 * letters > sum(map(str.isalpha, sample)) else None


def script_note(texts: Sequence[Any], pruning: Pruning, name: str) -> str | None:
    """Refuse texts without spaces between the words, and say so if words of one or two letters are left out where most
    words are as short; unless it was said what a token is."""
    length = unspaced(texts) if pruning.plain else None
    if length is None:
        return None
    if length > LONGEST_WORD:
        raise InputError(
            f"{name}: the texts are in a script without spaces between words, so the words are not known; put spaces "
            r"between them and use --token-pattern '\w+', or in Python give a tokenizer (Pruning(tokenizer=...))"
        )
    return (
        f"{name}: words of one or two letters are left out, and in this script most words are as short; "
        r"--token-pattern '\w+' keeps them"
    )


def count_terms(texts: Sequence[Any], pruning: Pruning, name: str) -> tuple[sparse.csr_array, list[str], str | None]:
    """Documents x terms, the terms in alphabetical order, and a note on what was pruned, if anything was."""
    counts, terms = _all_terms(texts, pruning, name)
    frequency = np.bincount(counts.indices, minlength=len(terms))
    least, most = pruning.limits(len(texts))
    enough = frequency / len(texts) >= least if least < 1 else frequency >= least
    not_too_many = frequency / len(texts) <= most if most <= 1 else frequency <= most
    kept = np.flatnonzero(enough & not_too_many & (counts.sum(axis=0) >= pruning.min_count))
    if not len(kept):
        raise InputError(
            f"{name}: the corpus is empty (no tokens left after pruning {len(texts)} documents); lower --min-documents "
            "and --min-count or raise --max-documents"
        )
    note = None
    if len(kept) < len(terms):
        note = (
            f"{name}: kept {len(kept):,} of {len(terms):,} terms: those {_conditions(least, most, pruning.min_count)}"
        )
    return counts[:, kept], terms[kept].tolist(), note


def _conditions(least: float, most: float, min_count: int) -> str:
    """What is asked of a term, and the options that change it."""
    asked = [("--min-documents", f"in at least {_amount(least)}")] if least != 1 else []
    asked += [("--max-documents", f"in at most {_amount(most)}")] if most != 1 else []
    asked += [("--min-count", f"that occur at least {min_count} times")] if min_count > 1 else []
    options, conditions = zip(*asked, strict=True)
    change = "changes" if len(options) == 1 else "change"
    return f"{' and '.join(conditions)} ({' and '.join(options)} {change} that)"


def _amount(limit: float) -> str:
    return f"{limit:,.0f} documents" if limit > 1 else f"{100 * limit:g} % of the documents"


def _all_terms(texts: Sequence[Any], pruning: Pruning, name: str) -> tuple[sparse.csr_array, np.ndarray]:
    """Counts of every term that is not a stop word."""
    from sklearn.feature_extraction.text import CountVectorizer  # takes a second, and only texts need it

    own = pruning.tokenizer
    vectorizer = CountVectorizer(
        lowercase=own is None,
        token_pattern=pruning.token_pattern if own is None else None,
        tokenizer=own,
        stop_words=sorted(stop_words(pruning.stop_words)) or None,
        ngram_range=pruning.ngrams,
        dtype=np.int64,
    )
    try:
        with warnings.catch_warnings():  # words such as "don't" in a file of stop words do no harm
            warnings.filterwarnings("ignore", "Your stop_words may be inconsistent")
            counts = vectorizer.fit_transform(texts)
    except ValueError as error:
        if not str(error).startswith("empty vocabulary"):
            raise
        what = " of three or more letters (--token-pattern changes that)" if pruning.plain else ""
        raise InputError(
            f"{name}: the corpus is empty (no words{what} in {len(texts)} documents, or only stop words)"
        ) from None
    return sparse.csr_array(counts), vectorizer.get_feature_names_out()
