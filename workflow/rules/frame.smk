# Jobs that belong to no study.


rule resolved_config:
    output:
        f"{RESULTS}/config.yaml",
    log:
        f"{RESULTS}/logs/config.log",
    localrule: True
    params:
        settings={"config": dict(config), "studies": AT_SCALE},
    message:
        "Writing the settings that were used"
    script:
        "../scripts/resolved_config.py"
