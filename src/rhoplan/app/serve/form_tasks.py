"""What the gallery and the form ask of a worker: a card of a model, its text as a form, a form as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from rhoplan.advice.doubts import doubts
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import chance, in_thousand
from rhoplan.app.serve.sources import Source
from rhoplan.app.serve.worker import build
from rhoplan.errors import ProblemError, RhoplanError, dotted
from rhoplan.io.comments import with_comments
from rhoplan.io.convert import convert
from rhoplan.io.form import Form, first_doubt, first_gap
from rhoplan.io.form_text import form_text, read_form
from rhoplan.io.model_file import LANGUAGES, parse_model
from rhoplan.model.diagnostic import Test
from rhoplan.model.pomdp import POMDP
from rhoplan.problems.registry import PROBLEMS

Record = dict[str, Any]


def card(source: Source, request: Record) -> Record:
    """A model in a few words; it is not kept at hand, for nobody has asked to plan with it."""
    problem = build(source)
    about = problem.details.get("info", {}).get("about") or problem.note
    if not about and source.name in PROBLEMS:
        about = (PROBLEMS[source.name].__doc__ or "").split("\n")[0]
    tests = None if problem.listed is None else len(problem.listed.tests)
    return {"title": problem.name, "about": about.rstrip("."), "tests": tests}


def as_form(source: Source, request: Record) -> Record:
    """The text of a model as a form."""
    if source.text is None or source.language not in LANGUAGES.values():
        raise ProblemError("a form shows model files in YAML, JSON or TOML; others stay as text", field=("language",))
    return {"form": asdict(read_form(source.text, file=source.name, language=source.language))}


def examine(source: Source, request: Record) -> Record:
    """A form as text, whether it is a sound model, and what its numbers mean; or the first thing that is wrong."""
    form = Form.of(request["form"])
    told: Record = {"text": None, "sound": False, "error": None, "read": None, "cautions": []}
    try:
        told["text"] = with_comments(request["text"], form_text(form)) if request["text"] else form_text(form)
        wrong = first_doubt(form) or first_gap(form)
        if wrong is not None:
            raise wrong
        problem = parse_model(told["text"], file=request["name"])
    except RhoplanError as error:
        field = error.field and dotted(error.field)
        fault = {"code": error.code, "field": field, "message": error.message, "line": error.line}
        return {**told, "error": fault}
    return {**told, "sound": True, "read": meaning(problem), "cautions": [asdict(one) for one in doubts(problem)]}


def meaning(problem: POMDP) -> Record:
    """What a model's numbers come to: prior, likelihoods, what decisions cost, where acting begins to pay."""
    menu, sign = problem.flat, -1.0 if counts_losses(problem) else 1.0
    states = list(problem.diagnoses)
    positive = problem.details.get("positive")
    place = states.index(positive) if positive in states else None
    return {
        "states": states,
        "prior": problem.prior.tolist(),
        "tests": [_test(problem, test, place) for test in menu.tests if not test.parts],
        "decisions": [{"name": one.name, "amounts": (sign * one.reward + 0.0).tolist()} for one in menu.commits],
        "threshold": None if place is None else threshold(problem, place),
    }


def threshold(problem: POMDP, place: int) -> Record | None:
    """Which of two decisions is the better one from which chance of the state at `place`, of two, on.

    None where one of them always is, or there are others.
    """
    menu = problem.flat
    if len(menu.commits) != 2 or len(problem.states) != 2:
        return None
    gain = menu.commits[1].reward - menu.commits[0].reward
    ill, well = float(gain[place]), float(gain[1 - place])
    return {"act": menu.commits[int(ill > 0)].name, "at": well / (well - ill)} if ill * well < 0 else None


def _frequencies(problem: POMDP, test: Test, place: int) -> str:
    """What a test finds in a thousand cases, in words."""
    prior, found = problem.prior, problem.prior * test.likelihood[:, 1]
    state, result = problem.states[place], test.outcomes[1]
    true, others = float(found[place]), float(found[1 - place])
    told = f"of 1,000 cases {in_thousand(float(prior[place]))} are {state}"
    told += f", {in_thousand(true)} of them {result}, and {in_thousand(others)} of the others"
    return f"{told}; {state} after {result}: {chance(true / (true + others))}" if true + others > 0 else told


def _test(problem: POMDP, test: Test, place: int | None) -> Record:
    told: Record = {"name": test.name, "outcomes": list(test.outcomes), "likelihood": test.likelihood.tolist()}
    told |= dict.fromkeys(("sensitivity", "specificity", "lr_positive", "lr_negative"))
    told["words"] = ""
    if place is None or test.likelihood.shape != (2, 2):
        return told
    sensitivity, specificity = float(test.likelihood[place, 1]), float(test.likelihood[1 - place, 0])
    told |= {"sensitivity": sensitivity, "specificity": specificity, "words": _frequencies(problem, test, place)}
    with np.errstate(divide="ignore", invalid="ignore"):
        told["lr_positive"] = float(np.float64(sensitivity) / test.likelihood[1 - place, 1])
        told["lr_negative"] = float(np.float64(test.likelihood[place, 0]) / specificity)
    return told


def _converted(source: Source, request: Record) -> Record:
    return convert(request["quoted"])


TASKS: dict[str, Callable[[Source, Record], Record]] = {
    "card": card,
    "form-read": as_form,
    "form-check": examine,
    "convert": _converted,
}
"""What a worker does without keeping a problem at hand."""
