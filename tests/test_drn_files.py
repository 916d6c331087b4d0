"""Storm's .drn files: observations are visible states, faults name their line."""

import re

import pytest

import rhoplan
from bridge import parse_drn, parse_pomdp, write_pomdp
from test_pomdp_files import line_of, value

MAZE = """// written by hand
@type: POMDP
@parameters

@reward_models
steps other
@nr_states
4
@nr_choices
6
@model
state 0 {2} [0, 7] init
\taction begin [0, 0]
\t\t1 : 0.5
\t\t2 : 1/2
state 1 {0} [0, 0]
\taction left [-1, 0]
\t\t3 : 1
\taction right [-1, 0]
\t\t1 : 0.75
\t\t2 : 0.25
state 2 {0} [-2, 0] dim
\taction left [-1, 0]
\t\t2 : 1
\taction right [-1, 0]
\t\t3 : 1
state 3 {1} [0, 0] goal
\taction __NOLABEL__ [0, 0]
\t\t3 : 1
"""


def test_labels_with_spaces_are_one_label_each():
    maze = parse_drn(MAZE.replace("] dim", '] "my init place" dim').replace("] init", '] "init"'))
    assert maze.start == "2"


def test_rewards_that_no_model_names_count_and_are_not_said_to_be_missing():
    bare = MAZE.replace("steps other", "").replace(", 0]", "]").replace(", 7]", "]")
    assert "no rewards" not in parse_drn(bare).note
    assert value(parse_drn(bare), 3) == value(parse_drn(MAZE), 3)
    assert "no rewards" in parse_drn(re.sub(r"\[-\d\]", "[0]", bare)).note


def test_observations_are_visible_states_and_the_goal_is_the_end():
    maze = parse_drn(MAZE, file="maze.drn")

    assert maze.name == "maze"
    assert maze.start == "2"
    assert maze.prior.tolist() == [1, 0, 0, 0]
    assert maze.discount == 1
    (begin,) = maze.menu("2")
    assert begin.leads_to == ("0",)
    left, right = maze.menu("0")
    assert left.leads_to == (rhoplan.END, "0")
    assert right.likelihood[1:3].tolist() == [[1, 0], [0, 1]]
    assert left.reward[1:3].tolist() == [-1, -3]
    assert "rewards are those of steps, of 2 in the file" in maze.note


def test_the_best_plan_pays_what_it_pays():
    """Right first: half of the cases are through for 3; the others have paid 1 and then go left, for 1 or for 3."""
    assert value(parse_drn(MAZE), 3) == pytest.approx(0.5 * -3 + 0.5 * (-1 + 0.75 * -1 + 0.25 * -3))


def test_a_written_maze_is_worth_the_same():
    maze = parse_drn(MAZE)

    for depth in (1, 2, 3, 4):
        assert value(parse_pomdp(write_pomdp(maze)), depth) == pytest.approx(value(maze, depth))


def test_actions_of_one_name_are_told_apart():
    text = MAZE.replace("action right", "action left")

    assert [action.name for action in parse_drn(text).menu("0")] == ["left", "left-1"]


FAULTS = {
    "too few actions": (
        MAZE.replace("\n6\n", "\n7\n"),
        "@nr_choices",
        "@nr_choices must be the number of actions of all states, 6",
    ),
    "a reward too few": (MAZE.replace("[-2, 0]", "[-2]"), "state 2", "a reward for each of steps, other; found '-2'"),
    "a probability below 0": (
        MAZE.replace("1 : 0.75", "1 : 1.75").replace("2 : 0.25", "2 : -0.75"),
        "2 : -0.75",
        "expected a probability; found '-0.75'",
    ),
    "a probability below 0 that another makes good": (
        MAZE.replace("2 : 0.25", "2 : 1.25\n\t\t2 : -1"),
        "2 : -1",
        "expected a probability; found '-1'",
    ),
    "an endless reward": (MAZE.replace("[-2, 0]", "[1e200, 0]"), "state 2", "at most 1e+100 large; it is 1e+200"),
    "an observation without a name": (MAZE.replace("{1}", "{ }"), "state 3", "state 3 must have an observation"),
    "no model": (MAZE.replace("@model", "@mode1"), None, "a line '@model' must come before the states"),
    "a long line": (
        MAZE.replace("1 : 0.75", "1 : " + "x" * 10_000),
        "xxx",
        "expected a number; found 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'",
    ),
    "an underscore in a number": (MAZE.replace("1 : 0.5", "1 : 0.5_0"), "0.5_0", "expected a number; found '0.5_0'"),
    "an MDP": (MAZE.replace("@type: POMDP", "@type: MDP"), "@type", "@type must be POMDP; it is 'MDP'"),
    "parameters": (
        MAZE.replace("@parameters\n", "@parameters\np q"),
        "@parameters",
        "must have no parameters; it has p q",
    ),
    "too many states": (
        MAZE.replace("\n4\n", "\n5\n"),
        "@nr_states",
        "@nr_states must be the number of states, 4; it is '5'",
    ),
    "a state out of order": (
        MAZE.replace("state 2", "state 5"),
        "state 5",
        "expected 'state 2 {observation} [reward] labels'",
    ),
    "no observation": (MAZE.replace("{1} ", ""), "state 3", "state 3 must have an observation"),
    "no action": (
        MAZE.replace("\taction __NOLABEL__ [0, 0]\n\t\t3 : 1\n", ""),
        "state 3",
        "state 3 must have an action",
    ),
    "a branch without an action": (
        MAZE.replace("\taction begin [0, 0]\n", ""),
        "1 : 0.5",
        "expected 'state 1 ...', an action",
    ),
    "a branch to nowhere": (MAZE.replace("2 : 1/2", "9 : 1/2"), "action begin", "expected a state below 4; found 9"),
    "a sum of 0.9": (
        MAZE.replace("0.75", "0.65"),
        "action right",
        "action 'right' of state 1 must have probabilities that sum to 1",
    ),
    "no number": (MAZE.replace("0.75", "p"), "1 : p", "expected a number; found 'p'"),
    "a division by zero": (MAZE.replace("1/2", "1/0"), "1/0", "expected a number; found '1/0'"),
    "other actions for the same observation": (
        MAZE.replace("{1}", "{0}"),
        "state 3",
        "states that share an observation must have",
    ),
    "no start": (MAZE.replace(" init", ""), "@model", "one state must be labelled init; there are 0"),
    "two starts": (MAZE.replace("] dim", "] init"), "state 2", "one state must be labelled init; there are 2"),
    "nothing": ("", None, "a line '@model' must come before the states"),
    "no type": (MAZE.replace("@type: POMDP", ""), None, "@type must be POMDP; it is ''"),
    "half an action": (MAZE.replace("action begin [0, 0]", "action"), "\taction\n", "expected 'action name [reward]'"),
}


@pytest.mark.parametrize(("text", "at", "words"), FAULTS.values(), ids=FAULTS)
def test_faults_name_file_line_and_what_was_expected(text, at, words):
    with pytest.raises(rhoplan.ModelFileError) as caught:
        parse_drn(text, file="some.drn")

    assert words in caught.value.message
    assert caught.value.line == line_of(text, at)
