# The results site, for the browser.


rule site:
    input:
        claims=f"{RESULTS}/claims.csv",
        shown=[shown_of(study) for study in STUDIES],
        published=published_files(),
    output:
        folder=directory(f"{RESULTS}/site"),
    log:
        f"{RESULTS}/logs/site.log",
    params:
        plans={study: site_plan(study) for study in STUDIES},
        left_out=LEFT_OUT,
        scale=SCALE,
        code=code_hash("bayestopics.pages.site"),
    message:
        "Writing the results site"
    script:
        "../scripts/site.py"
