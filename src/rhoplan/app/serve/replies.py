"""What each address replies, for OpenAPI (see `shapes`). The keys are those of `rhoplan ... --json`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from rhoplan.advice.branches import Leaf, Pathway, Step
from rhoplan.advice.case import Advice
from rhoplan.advice.compare import Frontier, Point, Row
from rhoplan.advice.doubts import Caution
from rhoplan.advice.first import First, Option, Stop
from rhoplan.advice.margin import Lead
from rhoplan.advice.outlay import Ahead
from rhoplan.advice.sensitivity import Flip
from rhoplan.advice.thresholds import Stretch, Thresholds
from rhoplan.advice.uncertain.uncertainty import Share, Sure
from rhoplan.agents.settings import SETTINGS
from rhoplan.app.serve.shapes import Number, by_name, either, many, maybe, pair, shape
from rhoplan.evaluation.score import Score
from rhoplan.planning.certified.solution import SolveResult
from rhoplan.planning.recommendation import ActionValue, Recommendation

Kind = Literal["exact", "bounded", "estimated", "missing"]
Free = Annotated[dict[str, Any], Field(description="As a model file has it.")]
Bounds = pair(Number, Number)
Evidence = many(pair(str, str))
Text = str | None


def _setting(kind: type) -> Any:
    """The type of a setting's value in a record."""
    return maybe(list[float] if kind is tuple else Number if kind is float else kind)


Whose = shape(
    "Whose",
    says="Whose result it is: the problem, the agent and all its settings.",
    problem=str,
    agent=str,
    **{name: _setting(one.kind) for name, one in SETTINGS.items()},
    reward_unit=str,
    notes=list[str],
    version=str,
)
Doubt = shape("Caution", Caution)
Wrong = shape(
    "Wrong", says="What is wrong with a text or a case.", code=str, field=Text, message=str, line=(maybe(int), None)
)
Chance = shape("Chance", says="An outcome and how likely it is.", outcome=str, probability=Number)

# --- What to do next
Valued = shape("Valued", ActionValue, behind=Number)
Decided = shape(
    "Decided",
    *(Whose, Recommendation, Lead),
    says="What to do next, and the value of every action in parts that add up.",
    kind=Kind,
    given=Evidence,
    actions=many(Valued),
    bounds=(maybe(by_name(Bounds)), None),
    proven=(Text, None),
)
Offered = shape("Offered", Option, behind=Number, outcomes=many(Chance), bounds=(Bounds, None))
Stopped = shape("Stopped", Stop, stake=Number, behind=Number)
ToCome = shape("ToCome", Ahead, tests_90=int, cost_90=Number)
_FIRST: dict[str, Any] = {
    "options": many(Offered),
    "commits": many(Stopped),
    "stop": Stopped,
    "entropy_bits": Number,
}
FirstTold = shape("FirstTold", Whose, First, without=("behind", "chances"), **_FIRST)
Advised = shape("Advised", Whose, Advice, without=("behind", "chances"), **_FIRST, ahead=maybe(ToCome), kind=Kind)
AdvisedEach = shape(
    "AdvisedEach",
    says="Advice on one of many cases, or what is wrong with what was said of it.",
    id=Text,
    advice=maybe(FirstTold),
    error=maybe(Wrong),
)
Batched = shape("Batched", says="Advice on many cases, in their order.", cases=many(AdvisedEach), refused=int)
Possible = shape(
    "Possible",
    says="An action in a situation: what it pays, alone and with what was paid before, and what it could show.",
    name=str,
    kind=str,
    factor=str,
    reward=Number,
    cost=Number,
    in_all=Number,
    outcomes=many(Chance),
)
Situated = shape(
    "Situated",
    says="Where a case stands.",
    problem=str,
    visible=Annotated[Any, Field(description="The visible state; null where the case has ended.")],
    ended=bool,
    paid=Number,
    beliefs=dict[str, dict[str, float]],
    actions=many(Possible),
)

# --- How good a plan is
Ceiling = shape("Ceiling", says="What no agent can beat.", clairvoyant=Number, tight=bool, optimum=maybe(Bounds))
Scored = shape(
    "Scored",
    Whose,
    Score,
    without=("se", "episodes", "seeds", "se_from", "success_interval", "unseen_loss", "value", "value_tail"),
    world=Text,
    kind=Kind,
    ceiling=(maybe(Ceiling), None),
    ceiling_missing=(str, None),
)
Certified = shape(
    "Certified",
    says="What other code found about both bounds: by how much claims exceed their backups, beyond rounding.",
    lower_excess=Number,
    upper_excess=Number,
    vectors=int,
    points=int,
    holds=bool,
)
Solved = shape(
    "Solved",
    SolveResult,
    without=("policy", "certificate", "shares", "own"),
    says="Certified bounds on the best plan.",
    problem=str,
    weight=Number,
    unit=str,
    discount=Number,
    horizon=maybe(int),
    kind=Kind,
    converged=bool,
    reward_unit=str,
    version=str,
    certificate=maybe(Certified),
    score=Annotated[Any, Field(description="Null: scores are made by the command line.")],
)
ScoredEach = either(Scored, many(Scored))

# --- The pathway
EndOfPath = shape("EndOfPath", Leaf, loss=Number)


OnPath = shape("OnPath", Step, without=("outcomes",), outcomes=many("ResultOnPath"))
PlaceOnPath = either(OnPath, EndOfPath)
ResultOnPath = shape(
    "ResultOnPath", says="A result of a test, and what comes then.", outcome=str, probability=Number, child=PlaceOnPath
)
OnPath.model_rebuild(_types_namespace={"ResultOnPath": ResultOnPath})
Drawn = shape(
    "Drawn",
    *(Pathway, Lead),
    without=("root", "ahead", "lead"),
    says="The recommended pathway as a tree.",
    root=PlaceOnPath,
    expected=ToCome,
)

# --- Side by side
Compared = shape("Compared", Row, stake=Number, stake_bounds=maybe(list[float]))
FrontierPoint = shape("FrontierPoint", Point, stake=Number)
OverWeights = shape("OverWeights", Frontier, points=many(FrontierPoint), best=maybe(int))
Comparison = shape(
    "Comparison",
    Whose,
    says="Ways of deciding side by side, and reward against success over the weight.",
    kind=Kind,
    rows=many(Compared),
    cost_only_better_by=Number,
    frontier=maybe(OverWeights),
)
Flipped = shape("Flipped", Flip, parameter=str, nearest=Number)
OneNumber = shape(
    "OneNumber",
    says="A number of the model or the agent: its value now, and its own.",
    id=str,
    parameter=str,
    kind=str,
    names=list[str],
    quantity=str,
    value=Number,
    own=Number,
)
IfSo = shape(
    "IfSo",
    says="Advice with other numbers, and where the first action flips.",
    advice=Advised,
    without_changes=str,
    changed=bool,
    parameters=many(OneNumber),
    counts=dict[str, int],
    flips=maybe(many(Flipped)),
    flips_words=str,
)

# --- Advice part by part
Ahead90 = shape(
    "AheadPart",
    ToCome,
    says="What is still to come, and where it comes from if it is estimated.",
    value_bounds=maybe(Bounds),
    episodes=maybe(int),
    seed=maybe(int),
    se=maybe(by_name(Number)),
)
StretchTold = shape("Stretch", Stretch, where=str, do=str)
Limits = shape("Thresholds", Thresholds, test=Number, treat=Number, words=str, stretches=many(StretchTold))
Here = shape("TotalFromHere", says="Loss or reward from here on.", mean=Number, kind=Kind, low=Number, high=Number)
SureTold = shape("HowSure", Share, says=Sure.__doc__ or "", samples=int, total=Here)
Part = shape(
    "Part",
    says="A line of the reply to `advise/parts`; the last one is called `end` and holds nothing.",
    part=str,
    kind=Annotated[
        Kind,
        Field(
            description="Whether the numbers are exact, those of a plan found with bounds on the best, means over "
            "sampled cases, or not there."
        ),
    ],
    words=Annotated[str, Field(description="That in words; of a missing part the reason.")],
    content=Annotated[
        either(
            FirstTold,
            Ahead90,
            shape("CostOnly", says="What one would do by cost alone.", do=str),
            Drawn,
            Comparison,
            shape("Flips", says="Where the first action flips.", flips=many(Flipped)),
            Limits,
            SureTold,
            None,
        ),
        Field(description="What it is goes with `part`, in the order of the names of parts."),
    ],
)

# --- Models
Registered = shape("Registered", says="A problem by name.", name=str, about=str, parameters=dict[str, Any])
WorkedModel = shape("WorkedModel", says="A worked model, with what its file says of it.", name=str, about=(str, None))
AgentKind = shape("AgentKind", says="A kind of agent.", name=str, weight=Number, one_step=bool, controls_for=str)
SettingTold = shape(
    "SettingTold", says="A setting of agents.", name=str, about=str, of=str, used_by=list[str], default=Any, kept=bool
)
Held = shape(
    "Held", says="A model that is kept in memory.", name=str, opened=bool, expires_in=maybe(int), file=(Text, None)
)
Catalogue = shape(
    "Catalogue",
    says="What there is to plan with, what is kept, and the limits of this server.",
    problems=many(Registered),
    models=many(WorkedModel),
    agents=many(AgentKind),
    planners=dict[str, str],
    utilities=dict[str, str],
    settings=many(SettingTold),
    report=bool,
    uploaded=many(Held),
    first=Text,
    folder=(Text, None),
    words=(dict[str, dict[str, str]], None),
    limits=dict[str, Number],
    version=str,
)
Model = shape(
    "Model",
    says="One model: its numbers, and its text where it can be written as a model file.",
    problem=str,
    title=str,
    flat=bool,
    reward_unit=str,
    reward_scale=Number,
    horizon=maybe(int),
    price=Number,
    cap=maybe(int),
    states=list[str],
    grid=Any,
    places=Any,
    stake=Text,
    info=maybe(Free),
    field=Text,
    agents=list[str],
    language=str,
    text=Text,
    digest=Text,
    cautions=many(Doubt),
    record=Free,
)
Checked = shape(
    "Checked",
    says="What an uploaded model consists of; with `check_only`, whether it is `sound`, and if not the `error`.",
    sound=(bool, None),
    error=(Wrong, None),
    name=(str, None),
    title=(str, None),
    flat=(bool, None),
    states=(int, None),
    tests=(int, None),
    commits=(int, None),
    actions=(int, None),
    horizon=(maybe(int), None),
    cautions=(many(Doubt), None),
)
Removed = shape("Removed", says="What was forgotten.", removed=str)

# --- Cases
Kept = shape(
    "Kept",
    says="A case as its line of the case log.",
    version=(str, None),
    time=(str, None),
    by=(str, None),
    previous=(str, None),
    sha256=(str, None),
    prior=(dict[str, float], None),
    known=(Evidence, None),
    problem=str,
    model=str,
    digest=str,
    agent=Annotated[dict[str, Any], Field(description="Who advised: name and settings.")],
    entries=Annotated[list[dict[str, Any]], Field(description="What was done, each with the advice it met.")],
)
Differs = shape(
    "Differs",
    says="The first difference between a log and what comes of it now.",
    case=int,
    step=int,
    what=str,
    then=Any,
    now=Any,
)
Broken = shape("Broken", says="What is wrong with a line of a log.", case=maybe(int), line=maybe(int), what=str)
Replayed = shape(
    "Replayed",
    says="A case log computed again.",
    cases=int,
    difference=maybe(Differs),
    faults=many(Broken),
    case=Kept,
    weight_per_nat=Number,
    known=Text,
)
Page = shape("Page", says="A page to save.", html=Annotated[str, Field(description="The whole file.")])

# --- Learning
Column = shape(
    "Column", says="A column of a table.", name=str, kind=str, blanks=int, distinct=int, target=bool, test=bool
)
TableTold = shape(
    "TableTold",
    says="A table that is held in memory, and what its columns are.",
    table=str,
    expires_in=Number,
    cases=int,
    columns=many(Column),
    warnings=list[str],
)
Drafted = shape(
    "Drafted", says="A plan to fill in, and how many cases have each diagnosis.", plan=Free, diagnoses=dict[str, int]
)
