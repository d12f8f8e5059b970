# Study `number_of_topics`: its runs and their parameters, from config/studies/number_of_topics.yaml.

if "number_of_topics" in config["studies"]:
    NUMBER = AT_SCALE["number_of_topics"]
    IN_TABLE_3 = {"lda-20", "lda-20-short", "whales", "birds-of-prey"}  # the second stands for the first
    PRIORS = STUDY["number_of_topics"]["priors"]
    for part in ("exact", "ladders", "walks", "empirical", "slips", "evidence", "scores", "distances"):
        for entry in NUMBER[part]:
            for given, where in [(NUMBER["corpora"], "the scale's corpora"), (PRIORS, "priors")]:
                insist(
                    entry["corpus"] in given,
                    f"config/studies/number_of_topics.yaml: {part}: {entry['corpus']!r} is not among {where}",
                )

    def walks(part):
        """Chains from one start that differ by m share estimates: that of the largest m makes them."""
        for entry in NUMBER[part]:
            rest = {key: entry[key] for key in ("corpus", "sampler", "least", "most", "iterations")}
            *smaller, largest = inners = sorted(set(entry["inner"]))
            for start in entry["starts"]:
                for inner in inners:
                    shared = {"shorter": smaller} if smaller and inner == largest else {}
                    name = f"pmmh-{entry['sampler']}-m{inner}-from{start}"
                    yield name, {**rest, "start": start, "inner": inner, **shared}

    def evidences():
        for entry in NUMBER["evidence"]:
            for method, work in entry["methods"].items():
                way = {"method": "annealing", "path": method} if method in PATHS else {"method": method}
                yield f"evidence-{method}", {"corpus": entry["corpus"], "topics": entry["topics"], **way, **work}

    def ladders():
        for entry in NUMBER["ladders"]:
            yield "ladder", {**entry, "law": REGISTRY[entry["corpus"]].generator}

    KINDS = {
        "topics_exact": [("exact", entry) for entry in NUMBER["exact"]],
        "topics_pmmh": list(walks("walks")),
        "topics_empirical": [(f"empirical-m{e['inner']}-from{e['start']}", e) for e in NUMBER["empirical"]],
        "topics_slip": [(f"slip-{name}", params) for name, params in walks("slips")],
        "topics_evidence": list(evidences()),
        "topics_ladder": list(ladders()),
        "topics_score": [("leave-one-out", entry) for entry in NUMBER["scores"]],
        "topics_distances": [("distances", entry) for entry in NUMBER["distances"]],
    }
    RUNS["number_of_topics"] = {
        f"{params['corpus']}-{name}": {"kind": kind, **params, **PRIORS[params["corpus"]]}
        for kind, runs in KINDS.items()
        for name, params in runs
        if PLACES[params["corpus"]]
    }
    NUMBER_CORPORA = {
        kind: sorted({run["corpus"] for run in RUNS["number_of_topics"].values() if run["kind"] == kind})
        for kind in KINDS
    }
    OUTPUTS["number_of_topics"] = [
        *(f"{RESULTS}/number_of_topics/walks-{name}.png" for name in NUMBER_CORPORA["topics_pmmh"]),
        *(f"{RESULTS}/number_of_topics/evidence-{name}.png" for name in NUMBER_CORPORA["topics_evidence"]),
        *([f"{RESULTS}/number_of_topics/scores.png"] if NUMBER_CORPORA["topics_score"] else []),
        *([f"{RESULTS}/number_of_topics/ladders.png"] if NUMBER_CORPORA["topics_ladder"] else []),
        f"{RESULTS}/number_of_topics/walks.csv",
        f"{RESULTS}/number_of_topics/evidence.csv",
        f"{RESULTS}/number_of_topics/ladders.csv",
        f"{RESULTS}/number_of_topics/lengths.csv",
        f"{RESULTS}/number_of_topics/constants.csv",
        *([f"{RESULTS}/number_of_topics/times.csv"] if IN_TABLE_3.intersection(NUMBER["corpora"]) else []),
    ]

    WALKS = ["topics_pmmh", "topics_empirical"]
    NUMBER_TABLES = {  # name -> kinds of the records, title
        "walks": (WALKS, "PMMH chains over the number of topics"),
        "evidence": (["topics_evidence"], "Methods for the evidence, beside the yardstick"),
        "ladders": (["topics_ladder"], "Annealing on simulated corpora, from below and from above"),
        "lengths": (["topics_ladder"], "How long a ladder must be for a standard error of 1 nat"),
        "constants": (["topics_evidence"], "The best T if constants of the density were left out"),
        "times": (["topics_pmmh", "topics_evidence", "topics_score"], "Hours of one core, ours and the paper's"),
    }

    def number_records(kinds, corpus=None):
        """The folders of the records of some kinds, of all corpora or of one."""
        return [
            f"{RESULTS}/number_of_topics/{name}"
            for name, run in RUNS["number_of_topics"].items()
            if run["kind"] in kinds and corpus in (None, run["corpus"])
        ]

    def number_before(wildcards):
        """The record that a run builds on: estimates with more inner sweeps, or the other harmonic mean."""
        run = RUNS["number_of_topics"][wildcards.run]
        keys = ("kind", "corpus", "sampler", "start", "least", "most", "topics", "sweeps", "repeats")
        alike = {key: run[key] for key in keys if key in run}
        return [
            f"{RESULTS}/number_of_topics/{name}"
            for name, other in RUNS["number_of_topics"].items()
            if alike.items() <= other.items()
            and (
                run.get("inner") in other.get("shorter", ())
                or (run.get("method"), other.get("method")) == ("harmonic-psi", "harmonic-z")
            )
        ]

    def number_code(wildcards):
        run = RUNS["number_of_topics"][wildcards.run]
        named = run.get("sampler", "sparse" if run["kind"] == "topics_evidence" else "single-site")
        samplers = [SAMPLERS[named].module] if named in SAMPLERS else []
        return code_hash(f"bayestopics.studies.{run['kind']}", *samplers)

    def number_threads(wildcards):
        """The yardstick takes longest: its repeats run side by side."""
        run = RUNS["number_of_topics"][wildcards.run]
        return run["repeats"] if run.get("path") == "reference" else 1
