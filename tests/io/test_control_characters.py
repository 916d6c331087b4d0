"""Control characters act on a terminal: no reader takes a name that has one, and all refuse it in the same words."""

import pytest

from rhoplan.errors import ModelFileError
from rhoplan.io.formats import parse_problem
from test_drn_files import MAZE
from test_pomdp_files import TIGER
from test_pomdpx_files import whole

YAML = """
states: ["calm", ill]
tests: {look: {cost: 1, sensitivity: 90%, specificity: 90%}}
positive: ill
losses: {leave: {"calm": 0, ill: 9}, treat: {"calm": 1, ill: 0}}
"""

ESCAPE, INTRODUCER, DELETE = "\x1b", "\x9b", "\x7f"
"""The first two begin a sequence that changes colours, moves the cursor or writes to the clipboard."""

NAMES = {
    "state of a model file": ("yaml", YAML, "calm", "\\x1b", 2),
    "state": ("pomdp", TIGER, "tiger-left", ESCAPE, 4),
    "action": ("pomdp", TIGER, "open-left", INTRODUCER, 5),
    "observation": ("pomdp", TIGER, "obs-left", DELETE, 6),
    "a word that no rule knows": ("pomdp", TIGER, "values: reward", ESCAPE, 3),
    "action of a drn file": ("drn", MAZE, "left", ESCAPE, 17),
    "observation of a drn file": ("drn", MAZE, "{0", INTRODUCER, 16),
    "label of a drn file": ("drn", MAZE, "goal", DELETE, 27),
    "reward model of a drn file": ("drn", MAZE, "steps", ESCAPE, 6),
    "value of a pomdpx variable": ("pomdpx", whole(), "attic", INTRODUCER, 5),
    "name of a pomdpx variable": ("pomdpx", whole(), "lamp_1", DELETE, 6),
    "name with a line break": ("pomdpx", whole(), "lamp_1", "&#x85;", 6),
}


@pytest.mark.parametrize(("language", "text", "name", "character", "line"), NAMES.values(), ids=NAMES)
def test_a_name_with_a_control_character_is_refused(language, text, name, character, line):
    wrong = text.replace(name, f"{name}{character}[31m")
    with pytest.raises(ModelFileError, match="must be printable text; it is '") as raised:
        parse_problem(wrong, file="evil", language=language)
    assert raised.value.line == line
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("language", "text", "comment"),
    [
        ("pomdp", TIGER, "# Cassandra's tiger"),
        ("drn", MAZE, "// written by hand"),
        ("pomdpx", whole(), "A lamp in one of two rooms."),
    ],
)
def test_comments_may_have_what_nobody_shows(language, text, comment):
    """Files of the nineties have quotation marks of Windows in comments, which are control characters in Latin-1."""
    kept = parse_problem(text.replace(comment, f"{comment} \x93quoted\x94"), file="old", language=language)
    assert kept.note.isprintable()
    assert kept.name == "old"
