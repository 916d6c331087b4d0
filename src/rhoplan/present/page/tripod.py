"""The list of TRIPOD+AI (27 items that a report on a prediction model should cover; Collins et al., BMJ 2024, 385,
e078378) with what the tool knows filled in. Topics are told in our own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rhoplan.learning.bill import Bill
from rhoplan.model.pomdp import POMDP
from rhoplan.present.page.learned import split_words
from rhoplan.present.page.parts import SCROLLED, safe
from rhoplan.version import __version__

YOURS = "<span class='todo'>To be filled in by you.</span>"

ITEMS: tuple[tuple[str, tuple[tuple[int, str, str], ...]], ...] = (
    ("Title and abstract", (
        (1, "Title: says that a model was developed or evaluated, for whom, and what it predicts", ""),
        (2, "Abstract: a structured summary", "abstract"),
    )),
    ("Introduction", (
        (3, "Background: the setting, existing models, who is to use it, known inequalities", ""),
        (4, "Objectives: development, evaluation or both", "objectives"),
    )),
    ("Methods", (
        (5, "Data: where cases come from, when they were collected, why they stand for those to come", "data"),
        (6, "Participants: setting and places, who was eligible, treatments received", "participants"),
        (7, "Data preparation: cleaning and recoding, and whether it differed between groups", "preparation"),
        (8, "Outcome: what it is, how and when it was found out, by whom, and whether blinded", "outcome"),
        (9, "Predictors: which, how and when measured, and how they were selected", "predictors"),
        (10, "Sample size: how it came about, and whether it is enough", "size"),
        (11, "Missing data: how much, and what was done about it", "missing"),
        (12, "Analysis: how data were used, kind of model, tuning, validation, measures of performance", "analysis"),
        (13, "Class imbalance: whether and how it was dealt with", "imbalance"),
        (14, "Fairness: what was done for it", ""),
        (15, "Output of the model, and thresholds", "output"),
        (16, "Differences between development and evaluation data", "differences"),
        (17, "Ethical approval and consent", ""),
    )),
    ("Open science", (
        (18, "Funding, interests, protocol, registration, sharing of data and of code", "open"),
    )),
    ("Patient and public involvement", (
        (19, "Whether and how patients or the public took part", ""),
    )),
    ("Results", (
        (20, "Participants: how many, their characteristics, and with which outcome", "flow"),
        (21, "Development: participants and events in each analysis", "development"),
        (22, "The full model, so that it can be used", "model"),
        (23, "Performance with intervals, also in key subgroups and places", "performance"),
        (24, "Updating of the model, and its results", "updating"),
    )),
    ("Discussion", (
        (25, "Interpretation, also with regard to fairness", ""),
        (26, "Limitations", "limitations"),
        (27, "Use in care: poor or missing inputs, what users must know, further research", "use"),
    )),
)  # fmt: skip


def tripod(learned: Mapping[str, Any], problem: POMDP) -> str:
    """The list as a table."""
    known = _known(learned, problem)
    body = []
    for title, items in ITEMS:
        rows = "".join(
            f"<tr><td class='n'>{number}</td><td>{safe(topic)}</td><td>{known.get(key, '')} "
            f"{'' if key in WHOLE else YOURS}</td></tr>"
            for number, topic, key in items
        )
        body.append(f"<tbody><tr><th colspan='3'>{safe(title)}</th></tr>{rows}</tbody>")
    return (
        "<p class='lead'>What a report on a prediction model should cover, by the numbers of the published list. The "
        "tool fills in what it knows; the rest only you know.</p>"
        f"{SCROLLED}<table class='tripod'><thead><tr>"
        f"<th class='n'>item</th><th>topic</th><th>in this report</th></tr></thead>{''.join(body)}</table></div>"
    )


WHOLE = frozenset({"objectives", "missing", "analysis", "output", "model", "development"})
"""Items of which the tool knows all that there is."""


def _known(learned: Mapping[str, Any], problem: POMDP) -> dict[str, str]:
    """What the tool can say, by item, ready for the page."""
    bill, choice = Bill.of(learned), learned["choice"]
    counts = ", ".join(f"{count:,} {name}" for name, count in learned["diagnoses"].items())
    cases, target = f"{learned['table']['cases']:,}", learned["target"]
    blanks = list(learned["blanks"])
    updates = learned.get("updates") or []
    since = f"{len(updates)} updates of the counts since." if updates else "None so far (rhoplan update adds cases)."
    commits = ", ".join(commit.name for commit in problem.flat.commits)
    prior = "given in the plan" if learned["prior_given"] else "the share among the cases"
    said = {
        "abstract": f"The first box: {cases} cases, {counts}; verdict: {bill.verdict}.",
        "objectives": "Development, and evaluation by nested cross-validation on cases left out.",
        "data": f"One table of {cases} cases with a known '{target}' (SHA-256 {learned['table']['sha256'][:12]}...).",
        "participants": f"{cases} cases with a known '{target}'.",
        "preparation": f"Numbers are cut into at most {choice.get('outcomes', '?')} ordered outcomes by training cases "
        "only; rare texts are joined. Warnings stand under cases.",
        "outcome": f"Column '{target}': {', '.join(learned['diagnoses'])}.",
        "predictors": f"{len(learned['use']['tests'])} tests named in the plan, with prices; the policy selects them "
        "case by case.",
        "size": f"All cases of the table; {learned['events_per_parameter']:.2g} cases of the rarest diagnosis for each "
        "number learned.",
        "missing": "A blank is a test that was not run: it counts nowhere in learning and cannot be had in scoring. "
        + (f"With blanks: {', '.join(blanks)} (see tests)." if blanks else "No test has blanks."),
        "analysis": f"Likelihoods of tests given diagnosis and subtype, shrunk; policy: {choice['horizon']} ahead, "
        f"weight {choice['weight']:g} per nat. Chosen by policy cost on inner folds; scored {split_words(learned)}. "
        "Measures: cost per case, calibration, net benefit.",
        "imbalance": f"Chance of diagnoses before any test: {prior}. Losses say what each error costs; no resampling.",
        "output": f"A chance for each diagnosis, a next test or a final action ({commits}); it stops "
        "where no test is worth its price.",
        "differences": f"Splits of one table, scored {split_words(learned)}.",
        "open": f"Made with rhoplan {__version__}, seed {learned['seed']}: open source, the same seed gives the same "
        "result.",
        "flow": f"{cases} cases: {counts}. Blanks per diagnosis stand under tests.",
        "development": f"{bill.splits} splits; of all {cases} cases the final model: {counts}.",
        "model": "The model file holds every likelihood, prior, price and loss; the pathway stands in this report.",
        "performance": f"Cost {bill.heldout.mean:,.4g} (95%: {bill.heldout.low:,.4g} to {bill.heldout.high:,.4g}) "
        f"{learned['unit']} a case; calibration and decision curve in this report. Subgroups were not looked at.",
        "updating": since,
        "limitations": "Tests are taken to be independent given diagnosis and subtype; one table; intervals are about "
        "cases like these.",
        "use": "A test that cannot be had may be passed over; advise, serve and report work on the model file.",
    }  # fmt: skip
    return {name: safe(words) for name, words in said.items()}
