# Study `hyperparameters`: its runs and their parameters, from config/studies/hyperparameters.yaml.

if "hyperparameters" in config["studies"]:
    HYPER = AT_SCALE["hyperparameters"]
    MODELS = STUDY["hyperparameters"]["models"]
    ONE_CORPUS = ("steps", "coverage")
    for part in ("surfaces", "rivals", "steps", "scores", "coverage"):
        for entry in HYPER[part]:
            for name in [entry["corpus"]] if part in ONE_CORPUS else entry["corpora"]:
                for given, where in [(HYPER["corpora"], "the scale's corpora"), (MODELS, "models")]:
                    insist(
                        name in given,
                        f"config/studies/hyperparameters.yaml: {part}: {name!r} is not among {where}",
                    )

    def without(entry, *keys):
        return {key: value for key, value in entry.items() if key not in keys}

    def surfaces():
        for entry in HYPER["surfaces"]:
            for corpus in entry["corpora"]:
                for replicate in range(entry["replicates"]):
                    rest = without(entry, "corpora", "replicates")
                    model = f"{entry['topics']}-topics-" if "topics" in entry else ""
                    name = f"tempering-{model}{entry['sampler']}-{replicate}"
                    yield name, {"corpus": corpus, "replicate": replicate, **rest}

    def on_corpora(part, name):
        for entry in HYPER[part]:
            for corpus in entry["corpora"]:
                yield name, {"corpus": corpus, **without(entry, "corpora")}

    def grid_steps():
        for entry in HYPER["steps"]:
            for number in range(entry["steps"]):
                yield f"step-{number + 1:02}", {"number": number, **without(entry, "steps")}

    HYPER_KINDS = {
        "hyper_surface": list(surfaces()),
        "hyper_rivals": list(on_corpora("rivals", "rivals")),
        "hyper_step": list(grid_steps()),
        "hyper_score": list(on_corpora("scores", "scores")),
        "hyper_coverage": [("coverage", entry) for entry in HYPER["coverage"]],
    }
    RUNS["hyperparameters"] = {
        f"{params['corpus']}-{name}": {"kind": kind, "truth": None, "paper": None, **MODELS[params["corpus"]], **params}
        for kind, runs in HYPER_KINDS.items()
        for name, params in runs
        if PLACES[params["corpus"]]
    }

    def hyper_records(*kinds, corpus=None, **wanted):
        """The folders of the records of these kinds, of all corpora or of one, with these parameters."""
        return [
            f"{RESULTS}/hyperparameters/{name}"
            for name, run in RUNS["hyperparameters"].items()
            if run["kind"] in kinds
            and corpus in (None, run["corpus"])
            and all(run.get(key) == value for key, value in wanted.items())
        ]

    def hyper_models(kind, **wanted):
        """(corpus, topics) of the runs of a kind with these parameters."""
        runs = [RUNS["hyperparameters"][Path(folder).name] for folder in hyper_records(kind, **wanted)]
        return sorted({(run["corpus"], run["topics"]) for run in runs})

    def hyper_before(wildcards):
        """The records that a run builds on: the step before, or where the choices of h come from."""
        run = RUNS["hyperparameters"][wildcards.run]
        if run["kind"] == "hyper_step" and run["number"] > 0:
            return [f"{RESULTS}/hyperparameters/{run['corpus']}-step-{run['number']:02}"]
        if run["kind"] == "hyper_score":
            model = {"corpus": run["corpus"], "topics": run["topics"]}
            found = hyper_records("hyper_surface", functionals=False, replicate=0, **model)
            return [*found, *hyper_records("hyper_rivals", corpus=run["corpus"])]
        return []

    def hyper_code(wildcards):
        run = RUNS["hyperparameters"][wildcards.run]
        return code_hash(f"bayestopics.studies.{run['kind']}", SAMPLERS[run.get("sampler", "single-site")].module)

    HYPER_FIGURES = {}  # name -> the function that draws it, and its records
    for corpus, topics in hyper_models("hyper_surface"):
        model = {"corpus": corpus, "topics": topics}
        name = corpus if topics == MODELS[corpus]["topics"] else f"{corpus}-{topics}-topics"
        HYPER_FIGURES[f"surface-{name}"] = ("draw_surface", hyper_records("hyper_surface", **model))
        if followed := hyper_records("hyper_surface", functionals=True, **model):
            HYPER_FIGURES[f"functionals-{name}"] = ("draw_functionals", followed)
        if hyper_records("hyper_surface", functionals=True, replicate=1, **model):
            HYPER_FIGURES[f"hat-tilde-{name}"] = ("draw_hat_tilde", followed)
    # where rivals have several starts, they are drawn with tempering [figure 8]
    met = [run["corpus"] for run in RUNS["hyperparameters"].values() if run.get("starts", 1) > 1]
    if both := [folder for name in met for folder in hyper_records("hyper_surface", "hyper_rivals", corpus=name)]:
        HYPER_FIGURES["rivals"] = ("draw_rivals", both)
    for corpus, _ in hyper_models("hyper_step"):
        HYPER_FIGURES[f"grid-{corpus}"] = ("draw_grid", hyper_records("hyper_step", corpus=corpus))
    HYPER_TABLES = {  # name -> kinds of the records, title
        "estimates": (["hyper_surface"], "The best h of every corpus, by serial tempering"),
        "scores": (["hyper_score"], "Leave-one-out scores of every choice of h, relative to tempering"),
        "times": (["hyper_surface", "hyper_rivals"], "Seconds of tempering and of its rivals"),
        "coverage": (["hyper_coverage"], "How often ellipses of 95 % cover the top of a long run"),
    }
    OUTPUTS["hyperparameters"] = [
        *(f"{RESULTS}/hyperparameters/{name}.png" for name in HYPER_FIGURES),
        *(
            f"{RESULTS}/hyperparameters/{name}.csv"
            for name, (kinds, _) in HYPER_TABLES.items()
            if hyper_records(*kinds)
        ),
    ]
