"""Files of others that say too little or too much: what is refused, where; and what may be left out."""

import re

import numpy as np
import pytest

import rhoplan
from rhoplan.errors import ModelFileError
from rhoplan.io import drn, pomdp_tables, pomdp_writer, pomdpx, pomdpx_network, pomdpx_tables
from rhoplan.io.drn import parse_drn
from rhoplan.io.pomdp import parse_pomdp
from rhoplan.io.pomdp_writer import write_pomdp
from rhoplan.io.pomdpx import parse_pomdpx
from test_drn_files import MAZE
from test_pomdp_files import HEAD, TIGER, joint, line_of, names_of
from test_pomdpx_files import LAMP, PAY, TIGER_DD, VARIABLES, table, whole

FOREIGN = {"pomdp": TIGER, "pomdpx": whole(), "drn": MAZE}


def test_a_pomdp_file_that_breaks_off_anywhere_is_refused_in_its_last_line():
    """Or, where it breaks off between two statements, for the discount that is still missing."""
    tables = "T: * : * : * 0\nT: *\nidentity\nO: * : * uniform\nR: go : a : b 1 2\nR: go : a : b : * 3"
    text = f"{HEAD.partition(chr(10))[2]}values: cost\nstart include: a b\n{tables}\ndiscount: 0.9"
    assert parse_pomdp(text).discount == 0.9
    for found in list(re.finditer(r"[^\s:]+|:", text))[:-1]:
        with pytest.raises(ModelFileError) as caught:
            parse_pomdp(text[: found.end()])
        assert caught.value.line in (None, text[: found.end()].count("\n") + 1)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("values:", 1, "expected reward or cost; found the end of the file"),
        ("values: :", 1, "expected reward or cost; found ':'"),
        (f"{HEAD}T: go", 5, "expected 9 numbers for a matrix; found the end of the file after 0"),
        (f"{HEAD}T:", 5, "expected one of the actions, or *; found the end of the file"),
        (f"{HEAD}R: go :", 5, "expected one of the states, or *; found the end of the file"),
        (f"{HEAD}T: * identity\nstates: a b c", 6, "it stands there twice"),
    ],
)
def test_a_pomdp_file_that_stops_short_says_what_was_expected(text, line, words):
    with pytest.raises(ModelFileError) as caught:
        parse_pomdp(text)
    assert words in caught.value.message
    assert caught.value.line == line


def test_tables_of_a_pomdp_file_hold_so_many_numbers_and_no_more(monkeypatch):
    said = f"{HEAD}T: * identity\nO: * uniform\n"
    monkeypatch.setattr(pomdp_tables, "MOST_NUMBERS", 2 * 3 * 2)  # observations: actions, states, what is seen
    assert joint(parse_pomdp(said), "go").sum() == pytest.approx(3)
    monkeypatch.setattr(pomdp_tables, "MOST_NUMBERS", 2 * 3 * 2 - 1)
    with pytest.raises(ModelFileError, match=r"observations may hold 11 numbers at most; they would hold 12"):
        parse_pomdp(said)
    one = "discount: 1 states: 3 actions: 1 observations: 1 T: * uniform O: * uniform"
    monkeypatch.setattr(pomdp_tables, "MOST_NUMBERS", 9)
    assert joint(parse_pomdp(one), "0").sum() == pytest.approx(3)
    monkeypatch.setattr(pomdp_tables, "MOST_NUMBERS", 8)
    with pytest.raises(ModelFileError, match=r"transitions may hold 8 numbers at most; they hold 9"):
        parse_pomdp(one)


def test_many_things_to_see_count_among_the_numbers_that_a_file_stands_for():
    head = "discount: 1\nstates: 2000\nactions: 10\nobservations: {}\nT: * identity\n"
    parse_pomdp(head.format(2) + "O: * uniform")
    with pytest.raises(ModelFileError, match="may stand for"):
        parse_pomdp(head.format(2000) + "T: 0 : 0 : 0 1")


@pytest.mark.parametrize("kind", FOREIGN)
def test_files_are_read_from_disk_with_whatever_signs_their_comments_have(kind, tmp_path):
    note = {"pomdp": "# caf\xe9\n", "pomdpx": "<!-- caf\xe9 -->", "drn": "// caf\xe9\n"}[kind]
    named = set()
    for coding in ("utf-8", "utf-8-sig", "latin-1"):
        path = tmp_path / f"{coding}.{kind}"
        path.write_bytes((note + FOREIGN[kind]).encode(coding))
        problem = rhoplan.load(path)
        assert (problem.name, problem.spec) == (coding, str(path))
        named.add(problem.states)
    assert len(named) == 1


def test_a_storm_file_may_leave_out_rewards_that_are_zero_and_write_chances_that_are():
    bare = MAZE.replace("@reward_models\nsteps other\n", "").replace(" [0, 7]", " [ ]").replace(" [0, 0]", "")
    bare = re.sub(r"\[(-\d), 0\]", r"[\1]", bare).replace("\t\t3 : 1\n\taction", "\t\t3 : 1\n\t\t0 : 0\n\taction")
    whole_maze, maze = parse_drn(MAZE), parse_drn(bare)
    for place in ("2", "0"):
        for one, other in zip(maze.menu(place), whole_maze.menu(place), strict=True):
            assert one.reward.tolist() == other.reward.tolist()
            assert (one.leads_to, one.likelihood.tolist()) == (other.leads_to, other.likelihood.tolist())


def test_a_goal_of_a_storm_file_that_goes_on_paying_is_no_end():
    left = parse_drn(MAZE.replace("{1} [0, 0]", "{1} [0.5, 0]")).menu("0")[0]
    assert left.leads_to == ("1", "0")
    left = parse_drn(MAZE.replace("__NOLABEL__ [0, 0]", "__NOLABEL__ [0.5, 0]")).menu("0")[0]
    assert left.leads_to == ("1", "0")


def test_an_action_of_a_storm_file_belongs_to_a_state():
    with pytest.raises(ModelFileError, match=r"expected 'action name \[reward\]'; found 'action begin'") as caught:
        parse_drn("@type: POMDP\n@model\naction begin\n")
    assert caught.value.line == 3


def test_no_more_menus_of_a_storm_file_are_looked_at_than_are_asked_for(monkeypatch):
    """Its start is looked at; a fault in what comes later is found where one comes to it."""
    late = MAZE.replace("[-2, 0]", "[-9e99, 0]").replace("action right [-1, 0]", "action right [-9e99, 0]")  # together
    with pytest.raises(ModelFileError, match="reward"):
        parse_drn(late)
    monkeypatch.setattr(drn, "MOST_LOOKED", 4)  # one menu of four states
    assert parse_drn(late).start == "2"


def test_a_reward_that_is_too_large_is_refused_with_the_name_of_the_file():
    for parse, text, place in (
        (parse_drn, MAZE.replace("[-2, 0]", "[-2e200, 0]"), "some.file, line 22"),
        (parse_pomdpx, whole(pay=PAY.replace(">-1<", ">-1e200<")), "some.file"),
    ):
        with pytest.raises(ModelFileError, match=r"reward") as caught:
            parse(text, file="some.file")
        assert str(caught.value).endswith(f"({place})")


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        (whole(lamp=LAMP.replace("<Var>lamp_1</Var>", "<Var/>")), "<CondProb><Var/>", "must have one <Var>"),
        (whole(lamp=LAMP.replace("<Var>lamp_1", "<Var>lamp_1 room_1")), "lamp_1 room_1", "must have one <Var>"),
        (
            whole(lamp=re.sub("(?s)<Parameter.*</Parameter>", "", LAMP)),
            "<CondProb><Var>lamp_1",
            "must have a <Parameter>",
        ),
        (
            TIGER_DD.replace("<DAG>\n<SubDAG", "\n<SubDAG").replace("</DAG>", "", 1),
            '"DD">\n<SubDAG',
            "must have a <DAG>",
        ),
        (TIGER_DD.replace("<Terminal>0.85</Terminal>", "<Leaf/>"), "<Leaf/>", "it holds 'Leaf'"),
        (
            TIGER_DD.replace("<Var>s_1</Var><Parent>a s_0<", "<Var>s_1</Var><Parent>a<"),
            '"persistent"',
            "persistent must have s_0 as a parent",
        ),
    ],
)
def test_half_a_table_is_refused_where_it_stands(text, at, words):
    with pytest.raises(ModelFileError) as caught:
        parse_pomdpx(text)
    assert words in caught.value.message
    assert caught.value.line == line_of(text, at)


def test_a_network_has_so_many_variables_and_axes_and_no_more(monkeypatch):
    monkeypatch.setattr(pomdpx_network, "MOST_VARIABLES", 4)  # room, lamp, seen, act
    monkeypatch.setattr(pomdpx_tables, "MOST_AXES", 4)  # what is seen by act, room and lamp
    assert parse_pomdpx(whole()).start == "hall"
    monkeypatch.setattr(pomdpx_tables, "MOST_AXES", 3)
    with pytest.raises(ModelFileError, match="seen may depend on 2 variables at most; it has 3"):
        parse_pomdpx(whole())
    monkeypatch.setattr(pomdpx_network, "MOST_VARIABLES", 3)
    with pytest.raises(ModelFileError, match="may have 3 variables at most"):
        parse_pomdpx(whole())


def test_a_reward_that_depends_on_nothing_is_paid_by_every_action():
    paid = parse_pomdpx(whole(pay=table("pay", "null", ("-", "3"), tag="Func")))
    assert {float(pay) for action in paid.menu("hall") for pay in action.reward} == {3.0}


def test_a_first_look_has_a_name_of_its_own_and_tells_of_every_hidden_state(monkeypatch):
    """Also of one that is ruled out from the start: there it shows what it shows to all."""
    named = VARIABLES.replace("hall attic out", "first hall out")
    stays = table("room_1", "act room_0", ("* - -", "identity"))
    start = table("room_0", "null", ("-", "0.5 0.25 0.25")) + table("lamp_0", "null", ("-", "0 1"))
    pay = table("pay", "act", ("*", "1"), tag="Func")
    text = whole(variables=named, room=stays, start=start, seen=table("seen", "act", ("* -", "uniform")), pay=pay)
    for word in ("first look", "hall"):
        monkeypatch.setattr(pomdpx, "FIRST", word)
        problem = parse_pomdpx(text)
        (look,) = problem.menu(problem.start)
        assert problem.start not in look.leads_to
        assert problem.looks_first
        assert look.outcomes == ("first", "hall", "out")
        assert look.likelihood.tolist() == [[0.5, 0.25, 0.25]] * 2


def test_where_every_action_shows_its_end_there_is_one_end_that_always_looks_the_same():
    written = write_pomdp(rhoplan.make("tiger"))
    shown = [line.split()[-2:] for line in written.splitlines() if re.match(r"O: \S+ : end ", line)]
    assert names_of(written, "states") == ["tiger-left", "tiger-right", "end"]
    assert shown == [["end", "1"]] * 3


def test_what_no_action_leads_to_is_shown_as_anything():
    """The two places take turns: there is no end, and each file state has a row for every action."""

    def menu(place):
        after = "q" if place == "p" else "p"
        return (rhoplan.Action(f"from-{place}", np.zeros(1), np.ones((1, 1)), ("seen",), (after,)),)

    problem = rhoplan.POMDP("turns", (rhoplan.Factor("f", ("a",), np.ones(1)),), "p", menu, discount=0.9)
    written = write_pomdp(problem)
    assert names_of(written, "observations") == ["seen"]
    assert sum(line.startswith("O:") for line in written.splitlines()) == 4
    assert parse_pomdp(written).discount == 0.9
    assert "first look" not in written  # there is none


def test_as_many_states_are_written_as_are_allowed(monkeypatch):
    monkeypatch.setattr(pomdp_writer, "MOST_STATES", 2)
    assert names_of(write_pomdp(rhoplan.make("tiger")), "states")[:2] == ["tiger-left", "tiger-right"]
    monkeypatch.setattr(pomdp_writer, "MOST_STATES", 1)
    with pytest.raises(rhoplan.LimitError, match="more than 1 states"):
        write_pomdp(rhoplan.make("tiger"))


def test_a_name_of_a_sign_or_two_is_spelt_out_and_one_of_more_is_not():
    test = rhoplan.Test("look", 1.0, ("+", "--", "+++"), np.array([[0.5, 0.25, 0.25], [0.2, 0.4, 0.4]]))
    commits = (rhoplan.Decision("a", np.array([1.0, 0.0])), rhoplan.Decision("b", np.array([0.0, 1.0])))
    written = write_pomdp(rhoplan.DiagnosticProblem(name="signs", states=("x", "y"), tests=(test,), decisions=commits))
    assert names_of(written, "observations") == ["plus-sign", "hyphen-minus_hyphen-minus", "s_", "end"]
