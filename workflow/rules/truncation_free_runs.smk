# Study `truncation_free`: its runs and their parameters, from config/studies/truncation_free.yaml.

if "truncation_free" in config["studies"]:
    FREE = AT_SCALE["truncation_free"]
    for entry in FREE["streams"]:
        for name in entry["corpora"]:
            insist(
                name in FREE["corpora"],
                f"config/studies/truncation_free.yaml: streams: {name!r} is not among the scale's corpora",
            )

    def free_streams():
        """A run a corpus, model, method and batch size."""
        for entry in FREE["streams"]:
            shared = {key: value for key, value in entry.items() if key not in ("corpora", "documents")}
            for corpus in entry["corpora"]:
                for method, sizes in entry["documents"].items():
                    for batch, documents in sizes:
                        more = {"truncation": STUDY["truncation_free"]["truncation"]} if method == "truncated" else {}
                        own = {"corpus": corpus, "method": method, "batch": batch, "documents": documents, **more}
                        yield f"{corpus}-{entry['model']}-{method}-{batch:03}", {**shared, **own}

    def free_endless():
        """A run a learner: peak memory is that of a process."""
        shared = {key: value for key, value in FREE["endless"].items() if key != "learners"}
        for model, method in FREE["endless"]["learners"]:
            more = {"truncation": STUDY["truncation_free"]["truncation"]} if method == "truncated" else {}
            yield f"endless-{model}-{method}", {"model": model, "method": method, **shared, **more}

    RUNS["truncation_free"] = {
        "toy": {"kind": "free_toy", **FREE["toy"]},
        **{name: {"kind": "free_endless", **params} for name, params in free_endless()},
        **{name: {"kind": "free_stream", **params} for name, params in free_streams() if PLACES[params["corpus"]]},
    }

    def free_corpus(wildcards):
        """The toy and streams without end have none."""
        run = RUNS["truncation_free"][wildcards.run]
        return corpus_file(run["corpus"]) if "corpus" in run else []

    def free_code(wildcards):
        return code_hash(f"bayestopics.studies.{RUNS['truncation_free'][wildcards.run]['kind']}")

    def free_records(*names):
        return [f"{RESULTS}/truncation_free/{name}" for name in names]

    FREE_STREAMS = free_records(*(name for name, run in RUNS["truncation_free"].items() if "corpus" in run))
    FREE_ENDLESS = free_records(*(name for name, _ in free_endless()))
    FREE_FIGURES = {  # name -> the function that draws it, and its records
        "toy": ("draw_toy", free_records("toy")),
        "endless": ("draw_endless", FREE_ENDLESS),
    }
    if FREE_STREAMS:
        FREE_FIGURES |= {
            "held-out": ("draw_held_out", FREE_STREAMS),
            "held-out-over-time": ("draw_held_out_over_time", FREE_STREAMS),
            "components": ("draw_components", FREE_STREAMS),
        }
        for model in sorted({run["model"] for run in RUNS["truncation_free"].values() if "corpus" in run}):
            of_model = [
                folder for folder in FREE_STREAMS if RUNS["truncation_free"][Path(folder).name]["model"] == model
            ]
            FREE_FIGURES[f"components-over-time-{model}"] = ("draw_components_over_time", of_model)
    FREE_TABLES = {  # name -> title, and its records
        "endless": ("Components and peak memory of streams without end", FREE_ENDLESS),
        "scores": ("Held-out scores and components of every stream, at its end and at equal seconds", FREE_STREAMS),
        "differences": ("Truncation-free less truncated, at equal seconds", FREE_STREAMS),
    }
    OUTPUTS["truncation_free"] = [
        *(f"{RESULTS}/truncation_free/{name}.png" for name in FREE_FIGURES),
        *(f"{RESULTS}/truncation_free/{name}.csv" for name, (_, records) in FREE_TABLES.items() if records),
    ]
