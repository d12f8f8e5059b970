# bayestopics: makes every figure, table and claim of the project.
#
#   snakemake --cores 8                          everything, at the scale set in config/config.yaml
#   snakemake --cores 8 --config scale=paper     the same at the papers' own sizes
#   snakemake --cores 8 first_look               one study
#
# The rules are in workflow/rules and the settings in config/. A study is a folder in src/bayestopics/studies, with a plan
# of its runs, figures and tables, plus a settings file in config/studies.
from snakemake.utils import min_version, validate

min_version("9.0")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/study.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/tracking.smk"
include: "workflow/rules/site.smk"


rule all:
    default_target: True
    input:
        everything(),


onstart:
    compile_kernels()


onsuccess:
    say_what_is_left_out()
    say_what_is_not_published()
    claims = f"; the claims are in {RESULTS}/claims.md" if Path(f"{RESULTS}/claims.md").is_file() else ""
    print(f"The results are in {RESULTS}{claims}.", file=sys.stderr)


onerror:
    say_what_is_left_out()
    say_what_is_not_published()
