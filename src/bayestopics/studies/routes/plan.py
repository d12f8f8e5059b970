"""Study `routes`: one run takes every route on one corpus."""

from __future__ import annotations

from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, without

CAPTION = """
The number of topics of the same corpora by every route. The routes do not estimate the same thing and need not agree.
Annealed evidence: the T with the largest log m(T), and every T whose posterior probability is at least a twentieth of
the largest, or may be within two standard errors. PMMH: median and central 95 % of the second halves of all chains.
Leave-one-out score: the best T, and every T whose score is lower by less than two standard errors. HDP: median and
central 95 % of K, the number of topics in use, over chains from different starts; the HDP opens many small topics, so
hollow marks show the median number of topics with at least 1 % of the tokens. Truncation-free: median and range over
seeds. Lines are dashed where chains from different starts disagree. A diamond means that the best T is at an end of the
range that was tried. The dotted line is the number of topics that generated a simulated corpus.
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
        "Every route",
        runs,
        figures={"routes": Figure("draw_routes", tuple(runs), CAPTION, "by every route")},
        tables={"routes": Table("routes_table", tuple(runs), title, CAPTION)},
    )
