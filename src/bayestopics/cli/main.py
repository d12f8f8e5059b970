"""The command line: `bayestopics`. Every command prints one JSON object with --json."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bayestopics.base.problems import InputError
from bayestopics.cli.arguments import build_parser

Result = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = build_parser().parse_args(arguments)
        run, show = COMMANDS[options.command]
        result = run(options)
        print(_json(result) if options.json else show(result), flush=True)
        for note in options.notes:
            _say(f"note: {note}")
        return 0
    except InputError as error:
        return _say(str(error), 2)
    except BrokenPipeError:  # the reader left, as in `| head -1`; nothing more may be flushed to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a disk that is full, a folder that may not be written
        place = error.filename2 or error.filename
        return _say(f"{place}: {error.strerror}" if place else str(error), 2)
    except MemoryError as error:
        return _say(f"not enough memory ({error})", 2)
    except KeyboardInterrupt:
        return _say(
            "interrupted (`fit`, `hdp`, `evidence` and `topics`, called again, go on from their last checkpoint)", 130
        )


def _json(result: Result) -> str:
    from bayestopics.base.plain import without_nan

    return json.dumps(without_nan(result), allow_nan=False)


def _say(message: str, code: int = 0) -> int:
    """One line on standard error, whatever a file name or a library puts into the message."""
    print("bayestopics: " + " ".join(message.splitlines()), file=sys.stderr)
    return code


# -- the commands --------------------------------------------------------------------------------


def _load(options: argparse.Namespace) -> Any:
    """The corpus that PATH names: a registered one, else a file or folder."""
    from bayestopics.corpus import Pruning, read_corpus
    from bayestopics.corpus.registry import Registry, default_config

    path = Path(options.path)
    if not path.exists() and "/" not in options.path and "." not in options.path:
        try:
            registry = Registry(default_config())
        except InputError as error:
            raise InputError(f"{path}: no such file or folder, and {error}") from None
        if options.path in registry.entries:
            return _checked(registry.load(options.path), options)
    pruning = Pruning(options.stop_words, options.min_documents, options.max_fraction, options.min_count)
    return _checked(read_corpus(path, terms=options.terms, pruning=pruning, encoding=options.encoding), options)


def _checked(corpus: Any, options: argparse.Namespace) -> Any:
    if options.terms not in (None, corpus.term_count):
        raise InputError(f"{options.path}: --terms {options.terms} disagrees with its {corpus.term_count} terms")
    if corpus.empty_documents:  # said at the end: on an error standard error has one line
        options.notes.append(f"{options.path}: empty documents, kept: {corpus.empty_documents}")
    return corpus


def corpus_info(options: argparse.Namespace) -> Result:
    return dict(_load(options).summary())


def corpus_convert(options: argparse.Namespace) -> Result:
    from bayestopics.corpus import write_corpus

    corpus = _load(options)
    write_corpus(corpus, options.out)
    return {"out": options.out, **corpus.summary()}


def corpus_list(options: argparse.Namespace) -> Result:
    from bayestopics.corpus.registry import Registry

    registry = Registry()
    places = registry.where(list(registry.entries))
    return {
        name: {"title": entry.title, "where": places[name], "expected": entry.expected}
        for name, entry in registry.entries.items()
    }


def corpus_simulate(options: argparse.Namespace) -> Result:
    from bayestopics.base.seeds import generator
    from bayestopics.corpus import write_corpus
    from bayestopics.corpus.synthetic import simulate_lda

    out = Path(options.out)
    if out.suffix != ".ldac":
        raise InputError(f"--out {out}: the name must end in .ldac")
    if out.is_dir():
        raise InputError(f"--out {out}: is a folder")
    simulated = simulate_lda(
        documents=options.documents,
        length=options.length,
        terms=options.terms,
        topics=options.topics,
        alpha=options.alpha,
        eta=options.eta,
        poisson=options.poisson,
        rng=generator(options.seed, "simulate"),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    simulated.save_truth(out.with_suffix(".truth.npz"))
    write_corpus(simulated.corpus, out)
    return {"out": str(out), **simulated.corpus.summary()}


def _prior(options: argparse.Namespace) -> Any:
    """The prior; what is wrong with the model is said before a large corpus is read."""
    from bayestopics.lda import sampler
    from bayestopics.lda.state import Prior

    sampler(options.sampler)
    prior = Prior(options.alpha, options.eta)
    prior.alpha_vector(options.topics)
    return prior


def _record_folder(options: argparse.Namespace) -> Path | None:
    out = Path(options.out) if options.out else None
    if out is not None and out.exists() and not (out / "run.json").is_file():
        raise InputError(f"--out {out}: exists, and is not a run record")
    return out


def fit(options: argparse.Namespace) -> Result:
    from bayestopics.runs.fit import fit as run_fit

    out = _record_folder(options)
    prior = _prior(options)
    return run_fit(
        _load(options),
        topics=options.topics,
        prior=prior,
        sampler=options.sampler,
        sweeps=options.sweeps,
        burn_in=options.burn_in,
        chains=options.chains,
        seed=options.seed,
        out=out,
        workers=options.workers,
    )


def evidence(options: argparse.Namespace) -> Result:
    from bayestopics.lda.state import Prior
    from bayestopics.runs.number_of_topics import evidence as compute

    out, prior = _record_folder(options), Prior(options.alpha, options.eta)
    work = {name: getattr(options, name) for name in ("method", "sweeps", "passes", "repeats", "seed", "workers")}
    return compute(_load(options), options.topics, prior, path=options.way, **work, out=out)


def topics(options: argparse.Namespace) -> Result:
    from bayestopics.evidence.topic_prior import TopicPrior
    from bayestopics.lda.state import Prior
    from bayestopics.runs.number_of_topics import posterior

    out, on_topics = _record_folder(options), TopicPrior.parse(options.prior, options.min, options.max or None)
    return posterior(
        _load(options),
        Prior(options.alpha, options.eta),
        topics=on_topics,
        starts=getattr(options, "start", None) or _starts(on_topics.low, on_topics.high),
        inner=options.inner,
        iterations=options.iterations,
        burn_in=options.burn_in,
        seed=options.seed,
        sampler=options.sampler,
        z_start=options.z_start,
        workers=options.workers,
        out=out,
    )


def _starts(low: int, high: int | None) -> list[int]:
    """5 and 30, or two others that are in the range."""
    few, many = max(5, low), max(30, low + 25)
    if high is None or few < high:
        return [few, many if high is None else min(many, high)]
    return [low, high]


def hyper(options: argparse.Namespace) -> Result:
    from bayestopics.hyper.compute import hyper as compute
    from bayestopics.lda import sampler

    sampler(options.sampler)
    ranges = {"alphas": options.alpha_range, "etas": options.eta_range, "shape": options.grid}
    work = {"method": options.method, "sweeps": options.sweeps, "seed": options.seed, "sampler": options.sampler}
    work |= {"search": options.search, "chains": options.chains, "workers": options.workers}
    return compute(_load(options), options.topics, **ranges, **work)


def select(options: argparse.Namespace) -> Result:
    from bayestopics.runs.select import check
    from bayestopics.runs.select import select as compute

    out = Path(options.out) if options.out else None
    if out is not None and out.exists() and not (out / "select.json").is_file():
        raise InputError(f"--out {out}: exists, and is not a report of `select`")
    check(options.topics, options.sweeps)
    corpus = _load(options)
    work = {"sweeps": options.sweeps, "steps": options.steps, "repeats": options.repeats, "chains": options.chains}
    found = compute(corpus, options.topics, **work, seed=options.seed, workers=options.workers)
    if out is not None:
        from bayestopics.pages.selection import write_report

        write_report(found, corpus, out, sweeps=options.sweeps, seed=options.seed)
    return found.summary()


def hdp(options: argparse.Namespace) -> Result:
    from dataclasses import fields

    from bayestopics.nonparametric.compute import HdpSettings
    from bayestopics.runs.hdp import hdp as compute

    given = {field.name: getattr(options, field.name) for field in fields(HdpSettings)}
    HdpSettings(**given)  # what is wrong with it is said before a large corpus is read
    out, work = _record_folder(options), {"chains": options.chains, "workers": options.workers}
    return compute(_load(options), **given, **work, seed=options.seed, out=out)


def score(options: argparse.Namespace) -> Result:
    import dataclasses

    prior = _prior(options)
    corpus = _load(options)
    chain = {"sampler": options.sampler, "sweeps": options.sweeps, "burn_in": options.burn_in}
    by_method = {"completion": _completion, "leave-one-out": _leave_one_out}
    return dataclasses.asdict(by_method[options.method](options, corpus, prior, chain))


def _completion(options: argparse.Namespace, corpus: Any, prior: Any, chain: dict[str, Any]) -> Any:
    from bayestopics.base.seeds import generator
    from bayestopics.predict.completion import score

    documents = max(1, round(options.heldout * corpus.document_count))
    rng = generator(options.seed, "score/completion")
    return score(corpus, options.topics, prior, **chain, documents=documents, rng=rng)


def _leave_one_out(options: argparse.Namespace, corpus: Any, prior: Any, chain: dict[str, Any]) -> Any:
    from bayestopics.predict.leave_one_out import score

    return score(
        corpus,
        options.topics,
        prior,
        **chain,
        thin=options.thin,
        particles=options.particles,
        beta=options.beta,
        warm_up=options.warm_up,
        documents=options.documents,
        seed=options.seed,
        workers=options.workers,
    )


# -- for people ----------------------------------------------------------------------------------


def _show_table(result: Result) -> str:
    """A line a value; warnings, if there are any, come last."""
    values = {key: value for key, value in result.items() if key != "warnings"}
    width = max(map(len, values))
    lines = [f"{key.replace('_', ' '):{width}}  {_known(value)}" for key, value in values.items()]
    return "\n".join([*lines, *_warnings(result)])


def _warnings(result: Result) -> list[str]:
    return [f"warning: {warning}" for warning in result.get("warnings", [])]


def _known(value: Any) -> Any:
    return "unknown" if value is None or value != value else value  # nan is not equal to itself


def _show_score(result: Result) -> str:
    """Without the table of the documents, which may be long."""
    return _show_table({key: value for key, value in result.items() if key != "documents"})


def _show_list(result: Result) -> str:
    rows = [f"{name:24} {row['where'] or 'out of reach':14} {row['title']}" for name, row in result.items()]
    return "\n".join(rows)


def _show_evidence(result: Result) -> str:
    lines = ["topics   log evidence   standard error"]
    for topics, value, error in zip(result["topics"], result["log_evidence"], result["standard_error"], strict=True):
        lines.append(f"{topics:6}  {value:13.2f}   {'unknown' if error is None else f'{error:14.2f}'}")
    if len(set(result["topics"])) > 1 and "best" in result:
        others = [str(topics) for topics in result["not_excluded"] if topics != result["best"]]
        told = f"the errors do not exclude {', '.join(others)}" if others else "its errors exclude the others"
        lines += ["", f"the largest is at {result['best']} topics; {told}"]
    if "one_labelling" in result:
        lines += ["", "for chains that keep to one labelling of their topics:"]
        lines += [f"{t:6}  {value:13.2f}" for t, value in zip(result["topics"], result["one_labelling"], strict=True)]
    if "unbiased" in result:
        lines += [
            "",
            "the estimates of m(T) are "
            + ("unbiased, their logs too low on average" if result["unbiased"] else "biased"),
        ]
    lines += ["", *_warnings(result)]
    return "\n".join(lines).rstrip()


def _show_topics(result: Result) -> str:
    lines = [f"{topics:6} topics  {share:7.2%}" for topics, share in sorted(result["posterior"].items())]
    rest = {key: value for key, value in result.items() if key != "posterior"}
    return "\n".join([*lines, "", _show_table(rest)])


def _show_hyper(result: Result) -> str:
    return "\n".join([*_hyper_lines(result), *_warnings(result)])


def _hyper_lines(result: Result) -> list[str]:
    """alpha, eta, what is known about them, and the chains."""
    about = {"ellipse": "Monte Carlo error", "region": "alpha and eta themselves"}
    lines = [f"alpha    {result['alpha']:.4g}", f"eta      {result['eta']:.4g}"]
    for name, what in about.items():
        one = result[name]
        ends = one and ", ".join(f"{side} {one[side][0]:.4g} to {one[side][1]:.4g}" for side in ("alpha", "eta"))
        lines.append(f"{name:8} " + (f"{one['level']:.0%}, {what}: {ends}" if one else "unknown"))
    if result.get("agreement") is not None:
        lines.append(f"agreement of the chains: p = {result['agreement']:.2g}")
    if "chains" in result:
        lines += ["", "chain      alpha        eta  round trips  moved"]
    for number, one in enumerate(result.get("chains", [])):
        lines.append(
            f"{number:5}  {one['alpha']:9.4g}  {one['eta']:9.4g}  {one['round_trips']:11}  {one['moved']:5.0%}"
        )
    return lines


def _show_select(result: Result) -> str:
    keys = ("topics", "log_evidence", "standard_error")
    columns = {key: [row[key] for row in result["table"]] for key in keys}
    shares = [f"{topics:6} topics  {share:7.2%}" for topics, share in result["posterior"].items()]
    table = _show_evidence({**columns, "warnings": []})
    best = ["", f"topics   {result['topics']}", _show_hyper(result)]
    return "\n".join([table, "", *shares, *best])


def _show_hdp(result: Result) -> str:
    rest = {key: value for key, value in result.items() if key not in ("top_words", "chains", "concentrations")}
    lines = [*_words(result["top_words"]), ""]
    for name, drawn in (result["concentrations"] or {}).items():
        lines.append(f"{name} {drawn['mean']:.3g}, standard deviation {drawn['standard_deviation']:.2g}")
    if len(result["chains"]) > 1:
        for number, chain in enumerate(result["chains"]):
            mean = sum(topics * share for topics, share in chain["topics"].items())
            start = "" if chain["start"] is None else f" from {chain['start']:2} topics"
            lines.append(f"chain {number}{start}: {mean:.1f} topics")
        lines.append("")
    return "\n".join([*lines, _show_topics(rest | {"posterior": rest.pop("topics")})])


def _words(rows: list[dict[str, Any]]) -> list[str]:
    return [f"topic {row['topic']:3}  {row['share']:6.1%}  {' '.join(row['words'])}" for row in rows]


def _show_fit(result: Result) -> str:
    lines = _words(result["topics"])
    summary = {key: value for key, value in result.items() if key not in ("log_joint", "topics")}
    return "\n".join([*lines, "", _show_table(summary)])


COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], Result], Callable[[Result], str]]] = {
    "info": (corpus_info, _show_table),
    "simulate": (corpus_simulate, _show_table),
    "convert": (corpus_convert, _show_table),
    "list": (corpus_list, _show_list),
    "fit": (fit, _show_fit),
    "evidence": (evidence, _show_evidence),
    "topics": (topics, _show_topics),
    "hyper": (hyper, _show_hyper),
    "select": (select, _show_select),
    "hdp": (hdp, _show_hdp),
    "score": (score, _show_score),
}


if __name__ == "__main__":
    sys.exit(main())
