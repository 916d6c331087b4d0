"""Sentences that name their numbers: how values are told, and that words and functions belong together."""

from __future__ import annotations

import pytest

from rhoplan_paper.published import published
from rhoplan_paper.registry import reasons
from rhoplan_paper.words import tell

OTHER_OUTCOMES = {"pymdp-missing", "depth-3-did-not-fit"}
"""Sentences of claims that may come out in another way."""


@pytest.mark.parametrize(
    ("form", "value", "told"),
    [
        ("+.2f", 1.0, "+1.00"),
        (".1%", 0.125, "12.5%"),
        ("pp", 0.125, "+12.5 pp"),
        ("0pp", -0.02, "-2 pp"),
        ("", ["tiger", "bandit"], "tiger, bandit"),
        (";", ["tiger", "bandit"], "tiger; bandit"),
        (";.1f", (1.0, 2.0), "1.0; 2.0"),
        ("|none", [], "none"),
        (";|none", ["tiger"], "tiger"),
        ("+.1f", {"tiger": 1.0, "bandit": 2.0}, "tiger +1.0, bandit +2.0"),
        (";.1f", {"tiger": [1.0, 2.0], "bandit": [3.0]}, "tiger 1.0, 2.0; bandit 3.0"),
        ("|nothing", {}, "nothing"),
        ("stays/changes", True, "stays"),
        ("stays/changes", False, "changes"),
    ],
)
def test_how_a_value_is_told(form: str, value: object, told: str) -> None:
    assert tell({"reason": f"{{value:{form}}}"}, {"value": value}) == {"reason": told}


def test_a_value_that_no_sentence_names_is_an_error() -> None:
    sentences = {"reason": "{gaps[bits]:.1f} and {lead.real:.0f}", "exact": "{one}"}
    values = {"gaps": {"bits": 1.0}, "lead": 2.0, "one": "so"}
    assert tell(sentences, values) == {"reason": "1.0 and 2", "exact": "so"}
    with pytest.raises(ValueError, match="no sentence names other"):
        tell(sentences, {**values, "other": 1})
    with pytest.raises(KeyError):
        tell(sentences, {"gaps": {"bits": 1.0}})


def test_every_claim_has_sentences_and_no_others_are_there() -> None:
    assert reasons().keys() == published().claims.keys() | OTHER_OUTCOMES
    parts = {"reason", "published", "simulated", "exact", "number", "sentence"}
    for sentences in reasons().values():
        assert "reason" in sentences
        assert sentences.keys() <= parts
        assert ("number" in sentences) is ("sentence" in sentences)
