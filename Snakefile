# bayestopics: every figure, table and claim of the project.
#
#   snakemake --cores 8                          everything, at the scale of config/config.yaml
#   snakemake --cores 8 --config scale=paper     the papers' own sizes
#   snakemake --cores 8 first_look               one study
#
# Rules are in workflow/rules; settings are in config/. A study is a folder of src/bayestopics/studies, with a plan of its
# runs, figures and tables, and a settings file in config/studies.
from snakemake.utils import min_version, validate

min_version("9.0")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/study.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/tracking.smk"


rule all:
    default_target: True
    input:
        everything(),


onstart:
    compile_kernels()


onsuccess:
    say_what_is_left_out()
    print(f"results are in {RESULTS}; claims in {RESULTS}/claims.md", file=sys.stderr)


onerror:
    say_what_is_left_out()
