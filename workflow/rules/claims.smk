# Answers every claim of the papers from the records and errors of the studies.


rule claims:
    input:
        jobs=[jobs_of(study) for study in STUDIES],
        errors=[errors_of(study) for study in STUDIES],
        tables=[tables_of(study) for study in STUDIES],
        registry="config/corpora.yaml",
    output:
        csv=f"{RESULTS}/claims.csv",
        markdown=f"{RESULTS}/claims.md",
        details=directory(f"{RESULTS}/claims"),
        html=report(
            f"{RESULTS}/claims.html",
            caption="../report/claims.rst",
            category="Claims",
            labels={"what": "what reproduces and what does not"},
        ),
    log:
        f"{RESULTS}/logs/claims.log",
    params:
        records={study: records_of(study) for study in STUDIES},
        errors={study: errors_of(study) for study in STUDIES},
        left_out=LEFT_OUT,
        scale=SCALE,
        code=code_of_claims,
    message:
        "Answering the claims of the papers"
    script:
        "../scripts/claims.py"
