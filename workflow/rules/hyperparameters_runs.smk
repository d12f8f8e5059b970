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
                    yield f"tempering-{entry['sampler']}-{replicate}", {"corpus": corpus, "replicate": replicate, **rest}

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
        f"{params['corpus']}-{name}": {"kind": kind, **params, "truth": None, "paper": None, **MODELS[params["corpus"]]}
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

    def hyper_corpora(kind, **wanted):
        runs = RUNS["hyperparameters"].values()
        return sorted(
            {
                run["corpus"]
                for run in runs
                if run["kind"] == kind and all(run.get(key) == value for key, value in wanted.items())
            }
        )

    def hyper_before(wildcards):
        """The records that a run builds on: the step before, or where the choices of h come from."""
        run = RUNS["hyperparameters"][wildcards.run]
        if run["kind"] == "hyper_step" and run["number"] > 0:
            return [f"{RESULTS}/hyperparameters/{run['corpus']}-step-{run['number']:02}"]
        if run["kind"] == "hyper_score":
            found = hyper_records("hyper_surface", corpus=run["corpus"], functionals=False, replicate=0)
            return [*found, *hyper_records("hyper_rivals", corpus=run["corpus"])]
        return []

    def hyper_code(wildcards):
        run = RUNS["hyperparameters"][wildcards.run]
        return code_hash(f"bayestopics.studies.{run['kind']}", SAMPLERS[run.get("sampler", "single-site")])

    # the corpora on which tempering and its rivals meet with several starts [figure 8]
    MET = [
        name
        for name in hyper_corpora("hyper_rivals")
        if hyper_records("hyper_surface", corpus=name)
        and any(run["starts"] > 1 for run in RUNS["hyperparameters"].values() if run["corpus"] == name and "starts" in run)
    ]
    FOLLOWED = hyper_corpora("hyper_surface", functionals=True)
    HYPER_FIGURES = {  # name -> draw, title, records
        **{
            f"surface-{name}": ("draw_surface", f"m(h): {name}", hyper_records("hyper_surface", corpus=name))
            for name in hyper_corpora("hyper_surface")
        },
        **{
            f"functionals-{name}": (
                "draw_functionals",
                f"what depends on h: {name}",
                hyper_records("hyper_surface", corpus=name, functionals=True),
            )
            for name in FOLLOWED
        },
        **{
            f"hat-tilde-{name}": (
                "draw_hat_tilde",
                f"two estimators, two seeds: {name}",
                hyper_records("hyper_surface", corpus=name, functionals=True),
            )
            for name in FOLLOWED
        },
        **(
            {
                "rivals": (
                    "draw_rivals",
                    "tempering and its rivals",
                    [folder for name in MET for folder in hyper_records("hyper_surface", "hyper_rivals", corpus=name)],
                )
            }
            if MET
            else {}
        ),
        **{
            f"grid-{name}": ("draw_grid", "the iterative grid", hyper_records("hyper_step", corpus=name))
            for name in hyper_corpora("hyper_step")
        },
    }
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
