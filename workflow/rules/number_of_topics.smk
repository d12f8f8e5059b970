# Study `number_of_topics`: PMMH chains, evidence by every method, leave-one-out scores, distances between topics.

if "number_of_topics" in config["studies"]:
    NUMBER = AT_SCALE["number_of_topics"]
    PRIORS = STUDY["number_of_topics"]["priors"]
    for part in ("exact", "ladders", "walks", "slips", "evidence", "scores", "distances"):
        for entry in NUMBER[part]:
            for given, where in [(NUMBER["corpora"], "the scale's corpora"), (PRIORS, "priors")]:
                insist(
                    entry["corpus"] in given,
                    f"config/studies/number_of_topics.yaml: {part}: {entry['corpus']!r} is not among {where}",
                )

    def walks(part):
        for entry in NUMBER[part]:
            for start in entry["starts"]:
                for inner in entry["inner"]:
                    rest = {key: entry[key] for key in ("corpus", "sampler", "least", "most", "iterations")}
                    yield f"pmmh-{entry['sampler']}-m{inner}-from{start}", {**rest, "start": start, "inner": inner}

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
        f"{RESULTS}/number_of_topics/constants.csv",
    ]

    NUMBER_TABLES = {  # name -> kind of the records, title
        "walks": ("topics_pmmh", "PMMH chains over the number of topics"),
        "evidence": ("topics_evidence", "Methods for the evidence, beside the yardstick"),
        "ladders": ("topics_ladder", "Annealing on simulated corpora, from below and from above"),
        "constants": ("topics_evidence", "The best T if constants of the density were left out"),
    }

    def number_records(kind, corpus=None):
        """The folders of the records of a kind, of all corpora or of one."""
        return [
            f"{RESULTS}/number_of_topics/{name}"
            for name, run in RUNS["number_of_topics"].items()
            if run["kind"] == kind and corpus in (None, run["corpus"])
        ]

    def number_code(wildcards):
        run = RUNS["number_of_topics"][wildcards.run]
        named = run.get("sampler", "sparse" if run["kind"] == "topics_evidence" else "single-site")
        samplers = [SAMPLERS[named]] if named in SAMPLERS else []
        return code_hash(f"bayestopics.studies.{run['kind']}", *samplers)

    rule number_of_topics:
        input:
            targets("number_of_topics"),

    rule number_of_topics_run:
        input:
            corpus=corpus_of("number_of_topics"),
            kernels=ancient(WARM),
        output:
            record=directory(f"{RESULTS}/number_of_topics/{{run}}"),
        log:
            f"{RESULTS}/logs/number_of_topics-{{run}}.log",
        wildcard_constraints:
            run="|".join(RUNS["number_of_topics"]) or "none",
        params:
            run=params_of("number_of_topics"),
            seed=config["seed"],
            scale=SCALE,
            checkpoints=CHECKPOINTS,
            code=number_code,
        message:
            "Running {wildcards.run}"
        script:
            "../scripts/number_of_topics_run.py"

    rule number_of_topics_walks:
        input:
            records=lambda wildcards: number_records("topics_pmmh", wildcards.corpus),
        output:
            report(
                f"{RESULTS}/number_of_topics/walks-{{corpus}}.png",
                caption="../report/number_of_topics_walks.rst",
                category="Number of topics",
                labels={"what": "PMMH: {corpus}"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-walks-{{corpus}}.log",
        params:
            scale=SCALE,
            draw="draw_walks",
            code=code_hash("bayestopics.figures.topics"),
        message:
            "Drawing the PMMH chains of {wildcards.corpus}"
        script:
            "../scripts/number_of_topics_figure.py"

    rule number_of_topics_evidence:
        input:
            records=lambda wildcards: number_records("topics_evidence", wildcards.corpus),
        output:
            report(
                f"{RESULTS}/number_of_topics/evidence-{{corpus}}.png",
                caption="../report/number_of_topics_evidence.rst",
                category="Number of topics",
                labels={"what": "log m(T) by every method: {corpus}"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-evidence-{{corpus}}.log",
        params:
            scale=SCALE,
            draw="draw_evidence",
            code=code_hash("bayestopics.figures.topics"),
        message:
            "Drawing the evidence of {wildcards.corpus}"
        script:
            "../scripts/number_of_topics_figure.py"

    rule number_of_topics_ladders:
        input:
            records=number_records("topics_ladder"),
        output:
            report(
                f"{RESULTS}/number_of_topics/ladders.png",
                caption="../report/number_of_topics_ladders.rst",
                category="Number of topics",
                labels={"what": "error a second of the paths of annealing"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-ladders.log",
        params:
            scale=SCALE,
            draw="draw_ladders",
            code=code_hash("bayestopics.figures.topics"),
        message:
            "Drawing the errors of annealing"
        script:
            "../scripts/number_of_topics_figure.py"

    rule number_of_topics_scores:
        input:
            records=number_records("topics_score"),
        output:
            report(
                f"{RESULTS}/number_of_topics/scores.png",
                caption="../report/number_of_topics_scores.rst",
                category="Number of topics",
                labels={"what": "leave-one-out scores"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-scores.log",
        params:
            scale=SCALE,
            draw="draw_scores",
            code=code_hash("bayestopics.figures.topics"),
        message:
            "Drawing the leave-one-out scores"
        script:
            "../scripts/number_of_topics_figure.py"

    rule number_of_topics_table:
        input:
            records=lambda wildcards: number_records(NUMBER_TABLES[wildcards.table][0]),
        output:
            csv=f"{RESULTS}/number_of_topics/{{table}}.csv",
            html=report(
                f"{RESULTS}/number_of_topics/{{table}}.html",
                caption="../report/number_of_topics_table.rst",
                category="Number of topics",
                labels={"what": "table: {table}"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-{{table}}.log",
        wildcard_constraints:
            table="|".join(NUMBER_TABLES),
        params:
            scale=SCALE,
            make=lambda wildcards: f"{wildcards.table}_table",
            title=lambda wildcards: NUMBER_TABLES[wildcards.table][1],
            code=code_hash("bayestopics.figures.topics"),
        message:
            "Making the table of {wildcards.table}"
        script:
            "../scripts/number_of_topics_table.py"
