"""Exports a fit to other tools: ArviZ (diagnostics and plots of the chains), pyLDAvis, gensim, CSV."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from bayestopics.base.files import replacing
from bayestopics.base.plain import canonical
from bayestopics.base.problems import InputError
from bayestopics.base.wording import in_cell
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.density import document_topic_mean, topic_term_mean
from bayestopics.lda.state import Prior, State, from_assignments
from bayestopics.runs.draws import mean_beta, mean_theta
from bayestopics.runs.record import read
from bayestopics.runs.result import Result

if TYPE_CHECKING:
    import arviz

    from bayestopics.runs.topics_result import TopicsResult


def to_arviz(record: Result | Path | str) -> arviz.InferenceData:
    """The traces of a fit (chains x draws) for quantities that do not depend on the labels of the topics.

    `posterior` holds `log_joint` and `topic_share` (the largest topics' shares of the tokens, by rank);
    `warmup_posterior` holds the same for the burn-in. The topics themselves are left out, because their labels differ
    between chains. The attributes are corpus, fingerprint, seed and params (as JSON).

        idata = to_arviz("fit-20")
        arviz.summary(idata)
        arviz.plot_trace(idata, var_names=["log_joint"])
    """
    with warnings.catch_warnings():  # ArviZ announces its next major version at every import
        warnings.simplefilter("ignore", FutureWarning)
        import arviz

    record = _fit_record(record)
    burn_in = record.task.params["burn_in"]
    chains = [chain for _, chain in record.trace.groupby("chain", sort=True)]
    shares = [name for name in record.trace if name.startswith("share_")]
    attributes = _attributes(record)
    return arviz.from_dict(
        posterior=_draws(chains, shares, slice(burn_in, None)),
        warmup_posterior=_draws(chains, shares, slice(burn_in)) if burn_in else None,
        save_warmup=burn_in > 0,
        coords={"rank": np.arange(1, len(shares) + 1)},
        dims={"topic_share": ["rank"]},
        attrs=attributes,
        posterior_attrs=attributes,
        posterior_warmup_attrs=attributes,
    )


def chains_to_arviz(result: Result, kept: pd.DataFrame, columns: list[str]) -> arviz.InferenceData:
    """These columns of a trace (chains x draws)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import arviz

    chains = [chain for _, chain in kept.groupby("chain", sort=True)]
    posterior = {name: np.array([chain[name].to_numpy() for chain in chains]) for name in columns}
    return arviz.from_dict(posterior=posterior, attrs=_attributes(result), posterior_attrs=_attributes(result))


def _attributes(result: Result) -> dict[str, Any]:
    task = result.task
    attributes = {"corpus": task.corpus, "fingerprint": task.fingerprint, "seed": task.seed}
    return attributes | {"params": canonical(task.params), "inference_library": "bayestopics"}


def _draws(chains: list[pd.DataFrame], shares: list[str], sweeps: slice) -> dict[str, np.ndarray]:
    return {
        "log_joint": np.array([chain["log_joint"].to_numpy()[sweeps] for chain in chains]),
        "topic_share": np.array([chain[shares].to_numpy()[sweeps] for chain in chains]),
    }


def to_pyldavis(record: Result | Path | str, corpus: Corpus, chain: int | None = None) -> dict[str, Any]:
    """The keyword arguments of `pyLDAvis.prepare`, from the means of the best chain, or from the last state of a chain.

    Parameters
    ----------
    record : Result, path or str
        The result of `fit` or `select`, or the folder of its record.
    corpus : Corpus
        The corpus that was fitted. Any other corpus is refused, because its fingerprint differs.
    chain : int, optional
        The chain whose last sweep is shown. By default, the topics are those that the fit shows: the means over the
        draws of the best chain. Only records of `fit` have the others.

    Returns
    -------
    dict
        ``topic_term_dists`` (means of beta), ``doc_topic_dists`` (means of theta), ``doc_lengths``, ``vocab`` and
        ``term_frequency``. Empty documents are left out, because they have no weight in the map and pyLDAvis does not
        expect a length of zero. So row i of ``doc_topic_dists`` is the i-th document that is not empty.

    Notes
    -----
    pyLDAvis is not installed together with bayestopics. It numbers topics by size, starting at 1, unless
    ``sort_topics=False`` is given::

        import pyLDAvis
        prepared = pyLDAvis.prepare(**to_pyldavis("fit-20", read_corpus("my.ldac")))
        pyLDAvis.save_html(prepared, "topics.html")

    Examples
    --------
    >>> from bayestopics import fit, simulate, to_pyldavis
    >>> corpus = simulate(documents=30, length=40, terms=20, topics=3, seed=1)
    >>> arguments = to_pyldavis(fit(corpus, topics=3, sweeps=10, burn_in=10), corpus)
    >>> arguments["topic_term_dists"].shape, arguments["doc_topic_dists"].shape
    ((3, 20), (30, 3))
    """
    record, lengths = _with_topics(record), corpus.document_lengths
    if chain is None:
        record.task.insist(corpus)
        beta, theta = mean_beta(record.tables), mean_theta(record.tables["documents"])
    else:
        state = _last_state(_fit_record(record), corpus, chain)
        beta, theta = topic_term_mean(state), document_topic_mean(state)
    return {
        "topic_term_dists": beta,
        "doc_topic_dists": theta[lengths > 0],
        "doc_lengths": lengths[lengths > 0],
        "vocab": list(corpus.vocabulary),
        "term_frequency": np.bincount(corpus.terms, minlength=corpus.term_count),
    }


def to_gensim(record: Result | Path | str) -> Any:
    """The topics of a fit as a `gensim.models.LdaModel`, whose topics are the means over draws that the fit shows.

    gensim is not installed together with bayestopics. Its terms are numbered as in the fitted corpus. gensim infers the
    topics of a new document by variational Bayes; `FitResult.new_documents` samples them.

        model = to_gensim("fit-20")
        model.show_topic(0)
        gensim.models.CoherenceModel(model, texts=texts, coherence="c_v").get_coherence()
    """
    from gensim.corpora import Dictionary
    from gensim.models import LdaModel

    record = _with_topics(record)
    topics, eta, terms = record.topic_count, float(record.prior.eta), record.tables["vocabulary"]
    dictionary = Dictionary()
    dictionary.token2id = {term: number for number, term in enumerate(terms["term"])}
    dictionary.cfs = dict(enumerate(terms["tokens"].tolist()))
    model = LdaModel(id2word=dictionary, num_topics=topics, alpha=record.alpha, eta=eta, dtype=np.float64)
    shares = record.tables["shares"]["share"].to_numpy()
    sizes = shares * terms["tokens"].sum() + len(terms) * eta  # of the Dirichlet distributions of the topics
    model.state.sstats[...] = mean_beta(record.tables) * sizes[:, None] - eta
    model.sync_state()
    return model


def _last_state(record: Result, corpus: Corpus, chain: int) -> State:
    task = record.task
    task.insist(corpus)
    assignments = record.arrays["assignments"]
    if not 0 <= chain < len(assignments):
        raise InputError(f"there is no chain {chain}: the record has chains 0 to {len(assignments) - 1}")
    prior = Prior(task.params["alpha"], task.params["eta"])
    return from_assignments(corpus, task.params["topics"], prior, assignments[chain])


def _with_topics(record: Result | Path | str) -> TopicsResult:
    if not isinstance(record, Result):
        record = read(Path(record))
    if record.task.study not in ("fit", "select"):
        raise InputError(f"{record.task.study}/{record.task.name}: this is not a record of `fit` or `select`")
    return cast("TopicsResult", record)


def _fit_record(record: Result | Path | str) -> Result:
    if not isinstance(record, Result):
        record = read(Path(record))
    if record.task.study != "fit":
        raise InputError(f"{record.task.study}/{record.task.name}: this is not a record of `fit`")
    return record


# -- CSV ------------------------------------------------------------------------------------------------


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV; no text in it does anything in a spreadsheet (`in_cell`)."""
    import pyarrow
    from pyarrow import csv

    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    with replacing(path) as temporary:
        content = pyarrow.Table.from_pandas(table.assign(**{name: table[name].map(_cell) for name in texts}))
        csv.write_csv(content, temporary)


def table_of_words(topics: list[dict[str, Any]]) -> pd.DataFrame:
    """One row per topic, with its words in one cell."""
    return pd.DataFrame([{**row, "words": " ".join(row["words"])} for row in topics])


def _cell(value: Any) -> Any:
    return in_cell(value) if isinstance(value, str) else value
