# Every claim of the papers, answered from the records of the studies.


rule claims:
    input:
        records=all_records,
        claims="config/claims.yaml",
        registry="config/corpora.yaml",
    output:
        csv=f"{RESULTS}/claims.csv",
        markdown=f"{RESULTS}/claims.md",
        html=report(
            f"{RESULTS}/claims.html",
            caption="../report/claims.rst",
            category="Claims",
            labels={"what": "what reproduces and what does not"},
        ),
    log:
        f"{RESULTS}/logs/claims.log",
    params:
        records={study: record_folders(study) for study in config["studies"]},
        left_out=LEFT_OUT,
        scale=SCALE,
        code=code_hash(
            "bayestopics.studies.claims",
            "bayestopics.base.plotting",
            *sorted({c["function"].split(":")[0] for c in CLAIMS if "function" in c}),
        ),
    message:
        "Answering the claims of the papers"
    script:
        "../scripts/claims.py"
