"""Study `routes`: one run is every route on one corpus."""

from __future__ import annotations

from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, without

CAPTION = """
The number of topics of the same corpora by every route. They do not estimate the same thing, and need not agree.
Annealed evidence: the T of the largest log m(T) of those tried, and those whose posterior probability is, or within
two standard errors may be, a twentieth of its own. PMMH: median and central 95 % of the second halves of all chains;
dashed where chains from different starts do not agree. Leave-one-out score: the best T, and those that predict worse
by less than two standard errors. HDP: median and central 95 % of K, the topics in use, over chains from different
starts (dashed likewise); hollow, the topics with 1 % of the tokens or more, in the median: the HDP opens many small
ones. Truncation-free: median and range over seeds. A diamond is at an end of the range that was tried. Dotted: the
topics that generated a simulated corpus.
"""


def plan(settings: Settings) -> Plan:
    priors, runs = settings.shared["priors"], {}
    for entry in settings.here["runs"]:
        for corpus in entry["corpora"]:
            settings.insist_among(corpus, "runs", priors=priors)
            if corpus in settings.within_reach:
                own = {"kind": "routes", "corpus": corpus}
                runs[corpus] = Run({**own, **priors[corpus], **without(entry, "corpora")})
    title = "The number of topics by every route, and what each of them estimates"
    return Plan(
        "Number of topics",
        runs,
        figures={"routes": Figure("draw_routes", tuple(runs), CAPTION, "by every route")},
        tables={"routes": Table("routes_table", tuple(runs), title, CAPTION)},
    )
