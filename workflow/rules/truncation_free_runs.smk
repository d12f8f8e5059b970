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

    RUNS["truncation_free"] = {
        "toy": {"kind": "free_toy", **FREE["toy"]},
        **{name: {"kind": "free_stream", **params} for name, params in free_streams() if PLACES[params["corpus"]]},
    }

    def free_corpus(wildcards):
        """The toy has none."""
        run = RUNS["truncation_free"][wildcards.run]
        return corpus_file(run["corpus"]) if "corpus" in run else []

    def free_code(wildcards):
        return code_hash(f"bayestopics.studies.{RUNS['truncation_free'][wildcards.run]['kind']}")

    def free_records(*names):
        return [f"{RESULTS}/truncation_free/{name}" for name in names]

    FREE_STREAMS = free_records(*(name for name in RUNS["truncation_free"] if name != "toy"))
    FREE_FIGURES = {"toy": ("draw_toy", free_records("toy"))}  # name -> the function that draws it, and its records
    if FREE_STREAMS:
        FREE_FIGURES |= {
            "held-out": ("draw_held_out", FREE_STREAMS),
            "held-out-over-time": ("draw_held_out_over_time", FREE_STREAMS),
            "components": ("draw_components", FREE_STREAMS),
        }
        for model in sorted({run["model"] for run in RUNS["truncation_free"].values() if "model" in run}):
            of_model = [
                folder for folder in FREE_STREAMS if RUNS["truncation_free"][Path(folder).name]["model"] == model
            ]
            FREE_FIGURES[f"components-over-time-{model}"] = ("draw_components_over_time", of_model)
    FREE_TABLES = {  # name -> title
        "scores": "Held-out scores and components of every stream, at its end and at equal seconds",
        "differences": "Truncation-free less truncated, at equal seconds",
    }
    OUTPUTS["truncation_free"] = [
        *(f"{RESULTS}/truncation_free/{name}.png" for name in FREE_FIGURES),
        *(f"{RESULTS}/truncation_free/{name}.csv" for name in FREE_TABLES if FREE_STREAMS),
    ]
