# bayestopics: every figure, table and claim of the project.
#
#   snakemake --cores 8                          everything, at the scale of config/config.yaml
#   snakemake --cores 8 --config scale=paper     the papers' own sizes
#   snakemake --cores 8 first_look               one study
#
# Rules are in workflow/rules, one file a study; settings are in config/.
from snakemake.utils import min_version, validate

min_version("9.0")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/frame.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/first_look.smk"
include: "workflow/rules/blocking.smk"
include: "workflow/rules/number_of_topics_runs.smk"
include: "workflow/rules/number_of_topics.smk"
include: "workflow/rules/hyperparameters_runs.smk"
include: "workflow/rules/hyperparameters.smk"
include: "workflow/rules/truncation_free_runs.smk"
include: "workflow/rules/truncation_free.smk"
include: "workflow/rules/split_merge_runs.smk"
include: "workflow/rules/split_merge.smk"
include: "workflow/rules/routes_runs.smk"
include: "workflow/rules/routes.smk"
include: "workflow/rules/tracking.smk"
include: "workflow/rules/claims.smk"


rule all:
    default_target: True
    input:
        [targets(study) for study in config["studies"]],
        f"{RESULTS}/claims.md",
        f"{RESULTS}/config.yaml",


onstart:
    compile_kernels()


onsuccess:
    say_what_is_left_out()
    print(f"results are in {RESULTS}; claims in {RESULTS}/claims.md", file=sys.stderr)


onerror:
    say_what_is_left_out()
