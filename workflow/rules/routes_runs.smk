# Study `routes`: its runs and their parameters, from config/studies/routes.yaml.

if "routes" in config["studies"]:

    def routes_runs():
        for entry in AT_SCALE["routes"]["runs"]:
            rest = {key: value for key, value in entry.items() if key != "corpora"}
            for corpus in entry["corpora"]:
                for given, where in [
                    (AT_SCALE["routes"]["corpora"], "the scale's corpora"),
                    (STUDY["routes"]["priors"], "priors"),
                ]:
                    insist(
                        corpus in given,
                        f"config/studies/routes.yaml: {corpus!r} is not among {where}",
                    )
                yield corpus, {"kind": "routes", "corpus": corpus, **STUDY["routes"]["priors"][corpus], **rest}

    RUNS["routes"] = {name: run for name, run in routes_runs() if PLACES[run["corpus"]]}
    OUTPUTS["routes"] = [f"{RESULTS}/routes/routes.{ending}" for ending in ("png", "csv")]
