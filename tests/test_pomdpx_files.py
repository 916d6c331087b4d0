"""SARSOP's .pomdpx files: tables and diagrams, visible and hidden variables, faults with their line."""

import pickle
import re

import numpy as np
import pytest

import rhoplan
from bridge import given_observation, parse_pomdp, parse_pomdpx, parse_xml, path_of, write_pomdp
from bridge import solve_bounds as solve
from rhoplan import ModelFileError
from test_pomdp_files import TIGER, line_of, value

VARIABLES = """<pomdpx version="1.0" id="toy">
<Description>A lamp in one of two rooms.</Description>
<Discount>0.9</Discount>
<Variable>
<StateVar vnamePrev="room_0" vnameCurr="room_1" fullyObs="true"><ValueEnum>hall attic out</ValueEnum></StateVar>
<StateVar vnamePrev="lamp_0" vnameCurr="lamp_1" fullyObs="false"><NumValues>2</NumValues></StateVar>
<ObsVar vname="seen"><ValueEnum>dark light</ValueEnum></ObsVar>
<ActionVar vname="act"><ValueEnum>look move leave</ValueEnum></ActionVar>
<RewardVar vname="pay"/>
</Variable>
"""


def table(name: str, parents: str, *entries: tuple[str, str], tag: str = "CondProb") -> str:
    kind = "ProbTable" if tag == "CondProb" else "ValueTable"
    inside = "\n".join(f"<Entry><Instance>{at}</Instance><{kind}>{numbers}</{kind}></Entry>" for at, numbers in entries)
    parameter = f'<Parameter type = "TBL">\n{inside}\n</Parameter>'
    return f"<{tag}><Var>{name}</Var><Parent>{parents}</Parent>\n{parameter}</{tag}>\n"


ROOM = table(
    "room_1",
    "act room_0",
    ("* - -", "identity"),
    ("move hall -", "0 0.75 0.25"),
    ("move attic -", "1 0 0"),
    ("leave * -", "0 0 1"),
)
LAMP = table("lamp_1", "act lamp_0", ("* - -", "identity"), ("move s0 -", "0.9 0.1"))
SEEN = table(
    "seen",
    "act room_1 lamp_1",
    ("* * * -", "uniform"),
    ("look hall - -", "0.8 0.2 0.2 0.8"),
    ("look attic s0 dark", "1"),
    ("look attic s0 light", "0"),
)
PAY = table(
    "pay",
    "act room_0 lamp_0",
    ("* * *", "-1"),
    ("leave - s1", "10 20 0"),
    ("leave - s0", "-10 -20 0"),
    ("* out *", "0"),
    tag="Func",
)
START = table("room_0", "null", ("-", "1 0 0")) + table("lamp_0", "null", ("-", "uniform"))


def whole(start=START, room=ROOM, lamp=LAMP, seen=SEEN, pay=PAY, variables=VARIABLES) -> str:
    return (
        f"{variables}<InitialStateBelief>{start}</InitialStateBelief>\n"
        f"<StateTransitionFunction>{room}{lamp}</StateTransitionFunction>\n"
        f"<ObsFunction>{seen}</ObsFunction>\n<RewardFunction>{pay}</RewardFunction></pomdpx>"
    )


def test_what_is_observed_is_visible_and_the_rest_hidden():
    problem = parse_pomdpx(whole(), file="lamp.pomdpx")

    assert problem.name == "lamp"
    assert problem.start == "hall"
    assert problem.states == ("s0", "s1")
    assert problem.discount == 0.9
    look, move, leave = problem.menu("hall")
    assert look.leads_to == ("hall", "hall")
    assert look.likelihood == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert look.transition is None
    assert move.outcomes == ("dark/attic", "dark/out", "light/attic", "light/out")
    assert move.leads_to == ("attic", rhoplan.END, "attic", rhoplan.END)
    assert move.transition == pytest.approx(np.array([[0.9, 0.1], [0.0, 1.0]]))
    assert leave.ends_episode
    assert leave.reward.tolist() == [-10, 10]
    assert problem.menu("attic")[0].likelihood.tolist() == [[1, 0], [0.5, 0.5]]


def test_a_place_where_new_hidden_values_are_seen_is_not_the_end():
    """What is seen outside says nothing about the lamp before, but all about the lamp after: that is information."""
    lamp = table("lamp_1", "act lamp_0", ("* * -", "uniform"))
    seen = table("seen", "lamp_1", ("s0 -", "0.9 0.1"), ("s1 -", "0.1 0.9"))
    pay = table("pay", "act", ("*", "0"), tag="Func")
    problem = parse_pomdpx(whole(lamp=lamp, seen=seen, pay=pay))

    assert rhoplan.END not in {place for action in problem.menu("hall") for place in action.leads_to}
    told = np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    found = solve(problem, weight=1.0, gap=1e-3)
    assert found.lower <= told / (1 - 0.9) <= found.upper
    blind = parse_pomdpx(whole(lamp=lamp, seen=table("seen", "lamp_1", ("- -", "uniform")), pay=pay))
    assert blind.menu("hall")[2].leads_to == (rhoplan.END, rhoplan.END)


def test_where_nothing_is_hidden_a_first_value_may_be_drawn_too():
    variables = VARIABLES.replace('vnameCurr="lamp_1" fullyObs="false"', 'vnameCurr="lamp_1" fullyObs="true"')
    start = table("room_0", "null", ("-", "0.5 0.25 0.25")) + table("lamp_0", "null", ("-", "uniform"))

    problem = parse_pomdpx(whole(start=start, variables=variables))

    (look,) = problem.menu(problem.start)
    assert problem.looks_first
    assert problem.states == ("known",)
    assert look.outcomes == ("hall/s0", "hall/s1", "attic/s0", "attic/s1", "out/s0", "out/s1")
    assert look.likelihood.tolist() == [[0.25, 0.25, 0.125, 0.125, 0.125, 0.125]]
    assert look.leads_to[:2] == (("hall", "s0"), ("hall", "s1"))
    assert look.leads_to[-2:] == (("out", "s0"), rhoplan.END)


def test_a_first_value_may_depend_on_another():
    start = table("room_0", "null", ("-", "1 0 0")) + table(
        "lamp_0", "room_0", ("* -", "uniform"), ("hall -", "0.3 0.7")
    )

    assert parse_pomdpx(whole(start=start)).prior.tolist() == [0.3, 0.7]


def test_a_problem_of_a_file_travels_to_another_process():
    problem = parse_pomdpx(whole())

    again = pickle.loads(pickle.dumps(problem))

    assert value(again, 3) == value(problem, 3)


def test_what_is_written_as_pomdp_is_worth_the_same():
    problem = parse_pomdpx(whole())

    for depth in (1, 2, 3, 4):
        assert value(parse_pomdp(write_pomdp(problem)), depth) == pytest.approx(value(problem, depth), abs=1e-9)


def test_rewards_of_several_functions_add_up_and_may_depend_on_what_follows():
    more = PAY + table("extra", "act room_1 seen", ("* * *", "0"), ("look hall light", "5"), tag="Func")
    both = VARIABLES.replace("</Variable>", '<RewardVar vname="extra"/></Variable>')

    look = parse_pomdpx(whole(pay=more, variables=both)).menu("hall")[0]

    assert look.reward == pytest.approx([-1 + 0.2 * 5, -1 + 0.8 * 5])
    assert look.pays == pytest.approx(np.array([[-1, 4], [-1, 4]]))


TIGER_DD = """<pomdpx><Discount>0.95</Discount><Variable>
<StateVar vnamePrev="s_0" vnameCurr="s_1"><ValueEnum>tiger-left tiger-right</ValueEnum></StateVar>
<ObsVar vname="o"><ValueEnum>obs-left obs-right</ValueEnum></ObsVar>
<ActionVar vname="a"><ValueEnum>listen open-left open-right</ValueEnum></ActionVar><RewardVar vname="r"/></Variable>
<InitialStateBelief><CondProb><Var>s_0</Var><Parent>null</Parent><Parameter type="DD"><DAG>
<SubDAG type="uniform" var="s_0"/></DAG></Parameter></CondProb></InitialStateBelief>
<StateTransitionFunction><CondProb><Var>s_1</Var><Parent>a s_0</Parent><Parameter type="DD"><DAG><Node var="a">
<Edge val="listen"><SubDAG type="persistent" var="s_1"/></Edge>
<Edge val="open-left"><SubDAG type="template" idref="any"/></Edge>
<Edge val="open-right"><SubDAG type="template" idref="any"/></Edge></Node></DAG>
<SubDAGTemplate id="any"><SubDAG type="uniform" var="s_1"/></SubDAGTemplate>
</Parameter></CondProb></StateTransitionFunction>
<ObsFunction><CondProb><Var>o</Var><Parent>a s_1</Parent><Parameter type="DD"><DAG><Node var="a">
<Edge val="listen"><Node var="s_1">
<Edge val="tiger-left"><Node var="o"><Edge val="obs-left"><Terminal>0.85</Terminal></Edge>
<Edge val="obs-right"><Terminal>0.15</Terminal></Edge></Node></Edge>
<Edge val="tiger-right"><Node var="o"><Edge val="obs-left"><Terminal>0.15</Terminal></Edge>
<Edge val="obs-right"><Terminal>0.85</Terminal></Edge></Node></Edge></Node></Edge>
<Edge val="open-left"><SubDAG type="uniform" var="o"/></Edge>
<Edge val="open-right"><SubDAG type="uniform" var="o"/></Edge></Node></DAG></Parameter></CondProb></ObsFunction>
<RewardFunction><Func><Var>r</Var><Parent>a s_0</Parent><Parameter type="DD"><DAG><Node var="a">
<Edge val="listen"><Terminal>-1</Terminal></Edge>
<Edge val="open-left"><Node var="s_0"><Edge val="tiger-left"><Terminal>-100</Terminal></Edge>
<Edge val="tiger-right"><Terminal>10</Terminal></Edge></Node></Edge>
<Edge val="open-right"><Node var="s_0"><Edge val="tiger-left"><Terminal>10</Terminal></Edge>
<Edge val="tiger-right"><Terminal>-100</Terminal></Edge></Node></Edge></Node></DAG></Parameter></Func></RewardFunction>
</pomdpx>"""


def test_diagrams_say_what_tables_say():
    tiger, plain = parse_pomdpx(TIGER_DD), parse_pomdp(TIGER)

    for one, other in zip(tiger.menu("here"), plain.menu("here"), strict=True):
        np.testing.assert_allclose(one.likelihood, other.likelihood)
        np.testing.assert_allclose(one.reward, other.reward)
    for depth in (1, 3, 5):
        assert value(tiger, depth, 1.0) == pytest.approx(value(plain, depth, 1.0))


def test_what_a_diagram_has_decided_stays_decided():
    """Asked about the same variable again it goes on with the same value, and what stands beside that is never met."""
    pays = '<Edge val="tiger-left"><Terminal>-100</Terminal></Edge>'
    again = (
        '<Edge val="tiger-left"><Node var="s_0"><Edge val="tiger-right"><Terminal>7</Terminal></Edge>'
        '<Edge val="tiger-left"><Terminal>-100</Terminal></Edge></Node></Edge>'
    )
    tiger, twice = parse_pomdpx(TIGER_DD), parse_pomdpx(TIGER_DD.replace(pays, again))

    assert pays in TIGER_DD
    for one, other in zip(tiger.menu("here"), twice.menu("here"), strict=True):
        assert one.reward.tolist() == other.reward.tolist()


def test_a_deterministic_diagram():
    text = TIGER_DD.replace(
        '<SubDAG type="uniform" var="s_0"/>', '<SubDAG type="deterministic" var="s_0" val="tiger-right"/>'
    )

    assert parse_pomdpx(text).prior.tolist() == [0, 1]


FAULTS = {
    "no XML": ("discount: 0.95", "discount", "this is not valid XML"),
    "a tag left open": ("<pomdpx>\n<Discount>", "<Discount>", "this is not valid XML"),
    "a document type": ('<!DOCTYPE pomdpx [<!ENTITY a "b">]>\n<pomdpx/>', "<!DOCTYPE", "must have no document type"),
    "nested for ever": ("<a>" * 300, "<a>", "nested 200 deep"),
    "another file": ("<html/>", "<html", "must be <pomdpx>"),
    "no variables": ("<pomdpx><Discount>1</Discount></pomdpx>", "<pomdpx", "must have a <Variable>"),
    "a discount of 2": (whole().replace("0.9</D", "2</D"), "<Discount>", "discount must be above 0"),
    "no values": (whole().replace("<NumValues>2</NumValues>", ""), 'vnameCurr="lamp_1"', "must have a <ValueEnum>"),
    "values twice": (whole().replace("dark light", "dark dark"), "dark dark", "different names"),
    "no name": (whole().replace('vnamePrev="lamp_0" ', ""), 'vnameCurr="lamp_1"', "must have vnamePrev and vnameCurr"),
    "no action": (re.sub("<ActionVar.*</ActionVar>", "", whole()), "<Variable>", "an <ActionVar>"),
    "an unknown variable": (whole(lamp=LAMP.replace("lamp_1", "lump")), "lump", "'lump' is none"),
    "an unknown parent": (whole(lamp=LAMP.replace("act lamp_0", "act lump")), "lump", "'lump' is none"),
    "an unknown value": (whole(room=ROOM.replace("move hall", "move cellar")), "cellar", "expected a value of room_1"),
    "a word too few": (
        whole(room=ROOM.replace("move hall -", "move -")),
        ">move -<",
        "one word for each of act, room_0, room_1",
    ),
    "a number too few": (whole(room=ROOM.replace("0 0.75 0.25", "0.75 0.25")), ">0.75 0.25<", "must hold 3 numbers"),
    "no number": (whole(room=ROOM.replace("0 0.75 0.25", "0 0.75 much")), "much", "must hold numbers"),
    "an identity of unequal sides": (
        whole(seen=SEEN.replace("* * * -", "* - * -").replace("uniform", "identity")),
        "* - * -",
        "identity must stand for two '-' of equal size",
    ),
    "a sum of 0.9": (
        whole(lamp=LAMP.replace("0.9 0.1", "0.9 0.0")),
        "<Var>lamp_1",
        "probabilities of lamp_1 given act move, lamp_0 s0 must sum to 1; they sum to 0.9",
    ),
    "a change that is missing": (whole(lamp=""), "<pomdpx", "there must be a <CondProb> of lamp_1"),
    "a table in the wrong place": (whole(start=START + LAMP), "<Var>lamp_1", "<Var> must be one of room_0, lamp_0"),
    "a kind of table that is not known": (whole(lamp=LAMP.replace("TBL", "ADD")), "ADD", "TBL or DD"),
    "an entry without an instance": (
        whole(lamp=LAMP.replace("<Instance>* - -</Instance>", "")),
        "<Entry><ProbTable>identity",
        "must have an <Instance>",
    ),
    "an element that is not known": (
        whole(lamp=LAMP.replace("Instance", "Place")),
        "<Place>* - -",
        "<Entry> may have <Instance>, <ProbTable>",
    ),
    "an entry in small letters": (
        whole(pay=PAY.replace("Entry", "entry")),
        "<entry><Instance>* * *",
        "<Parameter> may have <Entry>; it has <entry>",
    ),
    "two tables in an entry": (
        whole(lamp=LAMP.replace("identity</ProbTable>", "identity</ProbTable><ProbTable>uniform</ProbTable>")),
        "<ProbTable>uniform</ProbTable></Entry>\n<Entry><Instance>move",
        "<Entry> must have one <ProbTable>; it has two",
    ),
    "two tables of a variable": (
        whole(lamp=LAMP + LAMP.replace("<Var>", "<Var> ")),
        "<Var> lamp_1",
        "one <CondProb> of lamp_1; there are two",
    ),
    "two parameters": (
        whole(lamp=LAMP.replace("</CondProb>", "<Parameter/></CondProb>")),
        "<Parameter/>",
        "must have one <Parameter>",
    ),
    "two sections": (
        whole().replace("</pomdpx>", "<ObsFunction/></pomdpx>"),
        "<ObsFunction/>",
        "must have one <ObsFunction>",
    ),
    "a horizon, which is not in the format": (
        whole().replace("</Discount>", "</Discount><Horizon>3</Horizon>"),
        "<Horizon>",
        "it has <Horizon>",
    ),
    "no reward function": (whole().replace("RewardFunction>", "RewardFn>"), "<RewardFn>", "it has <RewardFn>"),
    "a reward function of nothing": (
        whole(pay=""),
        "<RewardFunction>",
        "one <Func> for each <RewardVar> (pay); it has none",
    ),
    "a reward twice": (
        whole(pay=PAY + PAY),
        "<RewardFunction>",
        "one <Func> for each <RewardVar> (pay); it has pay, pay",
    ),
    "a reward that is not declared": (
        re.sub("<RewardVar.*/>", "", whole()),
        "<RewardFunction>",
        "(there is none); it has pay",
    ),
    "a name of two variables": (
        whole(variables=VARIABLES.replace('"seen"', '"room_1"')),
        "<Variable>",
        "a name of its own",
    ),
    "a name of before and after": (
        whole(variables=VARIABLES.replace("lamp_0", "lamp_1")),
        "<Variable>",
        "a name of its own",
    ),
    "observed or not": (
        whole(variables=VARIABLES.replace('fullyObs="true"', 'fullyObs="yes"')),
        '"yes"',
        "must be true or false; it is 'yes'",
    ),
    "a parent twice": (
        whole(lamp=LAMP.replace("act lamp_0", "lamp_0 lamp_0")),
        "lamp_0 lamp_0",
        "must name each variable once",
    ),
    "a probability below 0": (
        whole(lamp=LAMP.replace("0.9 0.1", "1.5 -0.5")),
        "<Var>lamp_1",
        "must sum to 1; one is -0.5",
    ),
    "a digit of another script": (whole(lamp=LAMP.replace("0.9 0.1", "\u0661 0")), "\u0661", "must hold numbers"),
    "an underscore in a number": (whole(pay=PAY.replace("-1", "-1_0")), "-1_0", "must hold numbers"),
    "a reward that is uniform": (
        whole(pay=PAY.replace(">-1<", ">uniform<")),
        "uniform</ValueTable>",
        "must hold numbers",
    ),
    "a diagram that decides twice": (
        TIGER_DD.replace(
            '<SubDAG type="persistent" var="s_1"/>',
            '<Node var="s_1"><Edge val="tiger-left"><SubDAG type="persistent" var="s_1"/></Edge></Node>',
        ),
        '"persistent"',
        "must not stand under an edge that decides it",
    ),
    "a circle": (
        whole(lamp=table("lamp_1", "act seen", ("* * -", "uniform"))),
        "<Var>lamp_1",
        "must depend on what is known before it",
    ),
    "an edge to nowhere": (TIGER_DD.replace('val="listen"><Term', 'val="wait"><Term'), '"wait"', "found 'wait'"),
    "a template that is not there": (TIGER_DD.replace('idref="any"', 'idref="none"'), '"none"', "there is no 'none'"),
    "a template inside itself": (
        TIGER_DD.replace('<SubDAG type="uniform" var="s_1"/>', '<SubDAG type="template" idref="any"/>'),
        "<SubDAGTemplate",
        "this one goes on",
    ),
    "a node about something else": (
        TIGER_DD.replace('<Node var="s_0">', '<Node var="o">'),
        '<Edge val="open-left"><Node var="o">',
        "must be about one of a, s_0",
    ),
    "a terminal without a number": (TIGER_DD.replace("0.85", "lots"), "lots", "must hold a number; it holds 'lots'"),
    "a diagram of another kind": (TIGER_DD.replace('type="persistent"', 'type="still"'), '"still"', "it is 'still'"),
}


@pytest.mark.parametrize(("text", "at", "words"), FAULTS.values(), ids=FAULTS)
def test_faults_name_file_line_and_what_was_expected(text, at, words):
    with pytest.raises(rhoplan.ModelFileError) as caught:
        parse_pomdpx(text, file="some.pomdpx")

    assert words in caught.value.message
    assert caught.value.line == line_of(text, at)
    assert "\n" not in str(caught.value)


def test_an_xml_file_may_hold_so_many_elements_so_deep(monkeypatch):
    monkeypatch.setattr(path_of("MOST_ELEMENTS"), 3)
    monkeypatch.setattr(path_of("xml_DEEPEST"), 2)
    assert [one.tag for one in parse_xml("<a><b/><c/></a>", file="a.xml").inside] == ["b", "c"]
    for text in ("<a><b/><c/><d/></a>", "<a><b><c/></b></a>"):
        with pytest.raises(ModelFileError, match="may hold 3 elements, nested 2 deep"):
            parse_xml(text, file="a.xml")


def test_a_problem_of_many_factors_is_read_though_it_writes_few_of_its_numbers():
    """As many places, rocks and actions as RockSample[10,10] has: 102,400 states and 15 actions, in few words."""
    places, rocks, acts = 100, 10, ["on", "back", "left", "right", "take", *(f"check{k}" for k in range(10))]
    variables = "".join(
        f'<StateVar vnamePrev="rock{k}_0" vnameCurr="rock{k}_1" fullyObs="false"><NumValues>2</NumValues></StateVar>\n'
        for k in range(rocks)
    )
    head = (
        '<pomdpx version="1.0" id="rocks"><Description>Rocks</Description><Discount>0.95</Discount>\n<Variable>'
        f'<StateVar vnamePrev="at_0" vnameCurr="at_1" fullyObs="true"><NumValues>{places}</NumValues></StateVar>\n'
        f'{variables}<ObsVar vname="seen"><ValueEnum>good bad</ValueEnum></ObsVar>\n'
        f'<ActionVar vname="act"><ValueEnum>{" ".join(acts)}</ValueEnum></ActionVar>\n'
        '<RewardVar vname="pay"/></Variable>\n'
    )
    moves = [("* - -", "identity")]
    for here in range(places):
        row = " ".join(str(int(place == (here + 1) % places)) for place in range(places))
        moves.append((f"on s{here} -", row))
    start = table("at_0", "null", ("-", " ".join(["1", *["0"] * (places - 1)])))
    start += "".join(table(f"rock{k}_0", "null", ("-", "uniform")) for k in range(rocks))
    change = table("at_1", "act at_0", *moves)
    for k in range(rocks):
        taken = (f"take s{6 * k} * -", "0 1")
        change += table(f"rock{k}_1", f"act at_0 rock{k}_0", ("* * - -", "identity"), taken)
    parents = " ".join(f"rock{k}_1" for k in range(rocks))
    stars = ["*"] * rocks
    seen = [(f"* {' '.join(stars)} -", "uniform")]
    for k in range(rocks):
        known = " ".join([*stars[:k], "-", *stars[k + 1 :]])
        seen.append((f"check{k} {known} -", "0.9 0.1 0.1 0.9"))
    text = (
        f"{head}<InitialStateBelief>{start}</InitialStateBelief>"
        f"<StateTransitionFunction>{change}</StateTransitionFunction>"
        f"<ObsFunction>{table('seen', f'act {parents}', *seen)}</ObsFunction>"
        f"<RewardFunction>{table('pay', 'act at_0', ('* *', '-1'), tag='Func')}</RewardFunction></pomdpx>"
    )
    problem = parse_pomdpx(text, file="rocks.pomdpx")
    assert len(text) < 50_000
    assert sum(len(actions) for _, actions in problem.menus(200)) == places * len(acts)
    check, take = problem.menu("s18")[acts.index("check3")], problem.menu("s18")[acts.index("take")]
    good = np.arange(2**rocks) >> (rocks - 1 - 3) & 1
    assert np.array_equal(check.likelihood[:, 0], np.where(good, 0.1, 0.9))
    expected = np.arange(2**rocks) | 1 << (rocks - 1 - 3)  # what is taken is 1 afterwards, whatever it was
    assert take.transition is not None
    assert np.array_equal(given_observation(take.transition, 0).nonzero()[1], expected)
