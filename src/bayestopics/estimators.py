"""LDA and the HDP in the shape of scikit-learn: `fit`, `transform`, `components_`, pipelines and clones.

`fit` takes the same road as the functions of `bayestopics.api`; its result, with warnings, tables and the
reproducibility of each topic, is in `result_`. Data are a matrix of counts with documents as rows, dense or sparse, or
a `Corpus`. A model is saved to a folder with its record; nothing is pickled, so that a folder from elsewhere cannot run
code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sparse
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from bayestopics import api
from bayestopics.base.files import replacing
from bayestopics.base.plain import without_nan
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus, whole_numbers
from bayestopics.lda.left_to_right import given_beta, log_mean_of_products
from bayestopics.lda.state import Prior
from bayestopics.lda.uniforms import new_words
from bayestopics.predict.new_documents import NewDocuments, infer
from bayestopics.runs.draws import mean_beta
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.kinds import CommandResult, HdpResult

PARTICLES = 10  # for the score of a document


class TopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What LDA and HDP share: data in, theta out, saving and loading."""

    result_: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the topics of the documents X: a matrix of counts (documents x terms), dense or sparse, or a Corpus."""
        corpus = self._training(X)
        self._learn(self._compute(corpus), list(corpus.vocabulary))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The posterior means of the shares of the topics in each document, documents x topics.

        The documents are treated as new, also those that were fitted: see `FitResult.new_documents`. Terms of a
        Corpus are recognised by name, columns of a matrix by their place.
        """
        return self._inferred(X).mean

    def transform_deviation(self, X: Any) -> np.ndarray:
        """The posterior standard deviations that belong to `transform`."""
        return self._inferred(X).deviation

    def score(self, X: Any, y: Any = None) -> float:
        """The log probability of the documents given the means of the topics, summed over the documents, in nats.

        Theta is integrated out by left-to-right estimates with 10 particles, whose time grows with the square of the
        length of a document. Terms that the model does not know are left out.
        """
        corpus, rng = self._new(X), generator(0, "score")
        place = {term: number for number, term in enumerate(self._vocabulary)}
        number = np.array([place.get(term, -1) for term in corpus.vocabulary], dtype=np.int64)[corpus.terms]
        log_beta, total = np.log(self.components_.T), 0.0
        for d in range(corpus.document_count):
            terms = number[corpus.document_offsets[d] : corpus.document_offsets[d + 1]]
            terms = rng.permutation(terms[terms >= 0])
            if len(terms):
                total += log_mean_of_products(given_beta(terms, log_beta, self.alpha_, PARTICLES, new_words(rng)))
        return total

    def save(self, folder: Path | str, overwrite: bool = False) -> None:
        """Write the parameters and the record of the fit to a folder, which `load` reads."""
        check_is_fitted(self)
        folder = Path(folder)
        if folder.exists() and not overwrite:
            raise InputError(f"{folder}: exists already; choose another folder, or overwrite it (overwrite=True)")
        names = getattr(self, "feature_names_in_", None)
        content = {
            "estimator": type(self).__name__,
            "params": {name: _plain(value) for name, value in self.get_params().items()},
            "n_features_in": self.n_features_in_,
            "feature_names_in": None if names is None else names.tolist(),
            "vocabulary": self._vocabulary,
        }
        with replacing(folder) as temporary:
            temporary.mkdir()
            self.result_.save(temporary / "record")
            (temporary / "estimator.json").write_text(json.dumps(without_nan(content)) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read a model that `save` wrote."""
        path = Path(folder) / "estimator.json"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["estimator"] != cls.__name__:
                raise InputError(f"{path}: this is a model of the class {content['estimator']}, not {cls.__name__}")
            made = cls(**{name: _tuple(value) for name, value in content["params"].items()})
            made.n_features_in_ = int(content["n_features_in"])
            if content["feature_names_in"] is not None:
                made.feature_names_in_ = np.array(content["feature_names_in"], dtype=object)
            vocabulary = [str(term) for term in content["vocabulary"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path}: has no readable model ({type(error).__name__}: {error})") from None
        made._learn(CommandResult.load(Path(folder) / "record"), vocabulary)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = tags.input_tags.sparse = True
        return tags

    # -- for each model ---------------------------------------------------------------------------------

    def _compute(self, corpus: Corpus) -> CommandResult:
        raise NotImplementedError

    def _learn(self, result: Any, vocabulary: list[str]) -> None:
        """Take `components_` and `alpha_` from the result."""
        raise NotImplementedError

    def _betas(self) -> Iterable[np.ndarray]:
        """Draws of the topics, terms x topics."""
        raise NotImplementedError

    # -- data -------------------------------------------------------------------------------------------

    def _training(self, X: Any) -> Corpus:
        if isinstance(X, Corpus):
            self.n_features_in_ = X.term_count
            self.feature_names_in_ = np.array(X.vocabulary, dtype=object)
            return X
        _refuse_texts(X, type(self).__name__)
        matrix = validate_data(self, X, accept_sparse="csr", ensure_non_negative=True)
        return Corpus.from_sparse(matrix, self._columns(), name="X")

    def _new(self, X: Any) -> Corpus:
        """New documents, which may all be empty."""
        check_is_fitted(self)
        if isinstance(X, Corpus):
            return X
        _refuse_texts(X, type(self).__name__)
        matrix = validate_data(self, X, accept_sparse="csr", ensure_non_negative=True, reset=False)
        counts = sparse.coo_array(matrix)
        repeats = whole_numbers(counts.data, "X")
        order = np.lexsort((counts.coords[1], counts.coords[0]))
        documents, terms = (np.repeat(one[order].astype(np.int32), repeats[order]) for one in counts.coords)
        return Corpus(documents, terms, counts.shape[0], tuple(self._columns()))

    def _columns(self) -> list[str]:
        """The names of the columns of a matrix; their numbers, if they have none."""
        names = getattr(self, "feature_names_in_", None)
        return [str(name) for name in (range(self.n_features_in_) if names is None else names)]

    def _inferred(self, X: Any) -> NewDocuments:
        return infer(self._new(X), self._vocabulary, self._betas(), self.alpha_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @property
    def _workers(self) -> int:
        """The number of processes that `n_jobs` means to scikit-learn: None is one, -1 is one per core."""
        return int(effective_n_jobs(self.n_jobs))

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))


def _refuse_texts(X: Any, name: str) -> None:
    """Texts are no counts; scikit-learn would only say that it cannot make numbers of them."""
    first = next(iter(X), None) if isinstance(X, list | tuple | pd.Series) else None
    if isinstance(X, pd.DataFrame) and any(pd.api.types.is_string_dtype(X[column]) for column in X):
        first = "a column of texts"
    if isinstance(first, str):
        raise InputError(
            f"{name} takes counts, not texts: use make_pipeline(CountVectorizer(), {name}()), or Corpus.from_texts"
        )


class LDA(TopicModel):
    """Latent Dirichlet allocation with a fixed number of topics, by Gibbs sampling.

    Parameters
    ----------
    n_components : int
        The number of topics.
    alpha : float or tuple of float
        The Dirichlet parameter of the topics in a document: one number for all topics, or one per topic.
    eta : float
        The Dirichlet parameter of the terms in a topic.
    sampler : str
        The name of a sampler in `bayestopics.lda.SAMPLERS`.
    sweeps, burn_in : int
        The number of sweeps to keep from each chain, and the number to drop before them.
    chains : int
        The number of independent chains; the topics are those of the best one.
    random_state : int, RandomState or None
        The seed. The same int gives the same result; None takes a new seed.
    n_jobs : int or None
        The number of processes that share the chains; -1 means one per core. The result does not depend on it.

    Attributes
    ----------
    components_ : array of topics x terms
        The posterior means of the probabilities of the terms in each topic.
    alpha_ : array
        The Dirichlet parameter of each topic.
    result_ : FitResult
        The result of `bayestopics.fit`: warnings, tables, and the reproducibility of each topic.
    n_features_in_ : int
        The number of terms.

    Examples
    --------
    >>> from bayestopics import LDA, simulate
    >>> corpus = simulate(documents=40, length=60, terms=20, topics=2, seed=1)
    >>> model = LDA(n_components=2, sweeps=50, burn_in=50).fit(corpus.counts)
    >>> model.components_.shape
    (2, 20)
    >>> model.transform(corpus.counts[:3]).shape
    (3, 2)
    >>> model.get_feature_names_out().tolist()
    ['lda0', 'lda1']
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha: float | tuple[float, ...] = 0.1,
        eta: float = 0.01,
        sampler: str = "single-site",
        sweeps: int = 500,
        burn_in: int = 500,
        chains: int = 4,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.eta = eta
        self.sampler = sampler
        self.sweeps = sweeps
        self.burn_in = burn_in
        self.chains = chains
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _compute(self, corpus: Corpus) -> FitResult:
        how: dict[str, Any] = {"sampler": self.sampler, "seed": self._seed(), "workers": self._workers}
        how |= {"sweeps": self.sweeps, "burn_in": self.burn_in, "chains": self.chains}
        return api.fit(corpus, self.n_components, Prior(self.alpha, self.eta), **how)

    def _learn(self, result: FitResult, vocabulary: list[str]) -> None:
        self.result_, self._vocabulary = result, vocabulary
        self.components_, self.alpha_ = result.beta(), result.alpha

    def _betas(self) -> Iterable[np.ndarray]:
        found: FitResult = self.result_
        return found.betas()


class HDP(TopicModel):
    """The hierarchical Dirichlet process, which finds the number of topics, by Gibbs sampling.

    The topics are those of the last state of the chain with the highest mean log joint, the largest first. In new
    documents, topics that the fitted corpus does not have are left out.

    Parameters
    ----------
    method : str
        ``"gibbs"`` or ``"split-merge"``.
    eta, gamma, concentration : float
        The Dirichlet parameter of the terms in a topic, and the concentrations of the top level and of the documents.
    sweeps, burn_in : int
        The number of sweeps to keep from each chain, and the number to drop before them.
    chains : int
        The number of independent chains, from different numbers of topics.
    random_state : int, RandomState or None
        The seed. The same int gives the same result; None takes a new seed.
    n_jobs : int or None
        The number of processes that share the chains; -1 means one per core. The result does not depend on it.

    Attributes
    ----------
    components_ : array of topics x terms
        The mean probabilities of the terms in each topic, given the last state.
    alpha_ : array
        The Dirichlet parameter of each topic: the concentration times the topic's weight at the top level.
    result_ : HdpResult
        The result of `bayestopics.hdp`, with the posterior of the number of topics.
    n_features_in_ : int
        The number of terms.

    Examples
    --------
    >>> from bayestopics import HDP, simulate
    >>> corpus = simulate(documents=40, length=60, terms=20, topics=2, seed=1)
    >>> model = HDP(sweeps=50, burn_in=50).fit(corpus)
    >>> model.transform(corpus).shape == (40, len(model.components_))
    True
    """

    def __init__(
        self,
        *,
        method: str = "gibbs",
        eta: float = 0.1,
        gamma: float = 1.0,
        concentration: float = 1.0,
        sweeps: int = 500,
        burn_in: int = 500,
        chains: int = 4,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.method = method
        self.eta = eta
        self.gamma = gamma
        self.concentration = concentration
        self.sweeps = sweeps
        self.burn_in = burn_in
        self.chains = chains
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _compute(self, corpus: Corpus) -> HdpResult:
        if self.method not in ("gibbs", "split-merge"):
            raise InputError(f"method {self.method!r} has no topics for new documents; use gibbs or split-merge")
        names = ("method", "eta", "gamma", "concentration", "sweeps", "burn_in", "chains")
        settings: dict[str, Any] = {name: getattr(self, name) for name in names}
        return api.hdp(corpus, seed=self._seed(), workers=self._workers, **settings)

    def _learn(self, result: HdpResult, vocabulary: list[str]) -> None:
        import pandas as pd

        self.result_, self._vocabulary = result, vocabulary
        tables = {**result.tables, "vocabulary": pd.DataFrame({"term": vocabulary})}
        chain = result.answer["best_chain"]
        alpha = result.arrays[f"alpha_{chain}"]
        sizes = np.bincount(result.arrays[f"assignments_{chain}"], minlength=len(alpha))
        active = np.flatnonzero(sizes)
        self.components_ = mean_beta(tables)
        self.alpha_ = alpha[active[np.argsort(-sizes[active], kind="stable")]]  # the largest first, as the topics

    def _betas(self) -> Iterable[np.ndarray]:
        return [self.components_.T]


def _plain(value: Any) -> Any:
    """A parameter as JSON has it; a generator cannot be saved, and stands for a new seed."""
    if isinstance(value, np.generic):
        return value.item()
    return None if isinstance(value, np.random.RandomState) else value


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
