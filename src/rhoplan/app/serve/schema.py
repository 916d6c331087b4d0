"""What requests to the API hold; the names are those of the command line's options and JSON keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from rhoplan.advice.journal import KINDS
from rhoplan.advice.parts import BASIC, NAMES
from rhoplan.advice.variations import Kind
from rhoplan.agents.registry import PLANNERS
from rhoplan.agents.settings import FINITE, KEPT, SETTINGS, Setting
from rhoplan.planning.certified.solution import METHODS

Name = Annotated[str, Field(min_length=1, max_length=200)]
POMDP = Annotated[
    Annotated[str, Field(min_length=1, max_length=500)] | dict[str, Any],
    Field(
        description="A registered name with parameters (diagnosis:n=16,k=4), the name of a shipped or uploaded model, "
        "or a whole model as an object.",
        examples=["tiger"],
    ),
]
Given = Annotated[
    list[tuple[Name, Name]],
    Field(
        max_length=200,
        description="What was seen, pairs of test and outcome in order; the outcome is ? where the test was run and "
        "paid for, but nobody knows its result.",
    ),
]
Known = Annotated[
    list[tuple[Name, Name]],
    Field(max_length=200, description="Results known before the start: not paid for, not counted against a cap."),
]
Prior = Annotated[dict[Name, Annotated[float, Field(ge=0, le=1)]], Field(max_length=1000)]
OWN_PRIOR = "This case's own chances at the start; states that are not named share the rest as in the model."
Unavailable = Annotated[list[Name], Field(max_length=200, description="Tests that cannot be had from now on.")]

MOST_STATES = 10_000


class Request(BaseModel):
    """What every request may hold."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=False)

    problem: POMDP
    timeout: float | None = Field(
        None, gt=0, description="Seconds that planning may take, at most what the server allows."
    )


def _field(setting: Setting, *, required: bool = False, names: tuple[str, ...] = ()) -> Any:
    """Type and range of a setting, as pydantic has it; `names` where only some of its choices will do."""
    kind: Any = Literal[names or setting.choices] if setting.choices else setting.kind
    if setting.kind is tuple:
        kind = Annotated[list[float], Field(max_length=MOST_STATES)]
    most = setting.most_served or (None if setting.high == FINITE else setting.high)
    limits = {"gt" if setting.is_above else "ge": setting.low, "le": most}
    default = setting.default if setting.choices else None  # JSON cannot hold the others: infinity
    given: dict[str, Any] = {name: limit for name, limit in limits.items() if limit is not None}
    field: Any = Field(... if required else default, description=setting.help, **given)
    return (kind if required or default is not None else kind | None, field)


if TYPE_CHECKING:

    class AgentRequest(Request):
        """Who plans, and how."""

    class AdviserRequest(AgentRequest):
        """Who advises, and how."""

    class Adviser(BaseModel):
        """Who gave a piece of advice: the settings that a case log keeps."""

else:
    AgentRequest = create_model(
        "AgentRequest",
        __base__=Request,
        __doc__="Who plans, and how.",
        agent=(Annotated[str, Field(min_length=1, max_length=200)], "efe"),
        **{name: _field(setting) for name, setting in SETTINGS.items()},
    )
    AdviserRequest = create_model(
        "AdviserRequest",
        __base__=AgentRequest,
        __doc__="Who advises, and how.",
        agent=(
            Annotated[str, Field(min_length=1, max_length=200)] | None,
            Field(None, description="If left out: cost-only, and information at the price that model or weight put."),
        ),
    )
    _fixed = tuple(name for name, row in PLANNERS.items() if not row.samples)
    Adviser = create_model(
        "Adviser",
        __config__=ConfigDict(extra="forbid", allow_inf_nan=False),
        __doc__="Who gave a piece of advice: the settings that a case log keeps.",
        name=(Name, ...),
        **{
            one.name: _field(
                one, required=one.name in ("horizon", "weight"), names=_fixed if one.name == "planner" else ()
            )
            for one in KEPT
        },
    )


class Decide(AgentRequest):
    """What to do next, and the value of every action in parts that add up: as `rhoplan decide --json`."""

    given: Given = []  # noqa: RUF012
    seed: int = Field(0, ge=0, lt=2**63)


class Situate(Request):
    """Where a case stands, without planning."""

    given: Given = []


class CaseRequest(AdviserRequest):
    """A case as it stands."""

    given: Given = []  # noqa: RUF012
    unavailable: Unavailable = []  # noqa: RUF012
    known: Known = []  # noqa: RUF012


class Advise(CaseRequest):
    """Advice on a case of an observe-then-commit problem."""

    prior: Prior | None = Field(None, description=OWN_PRIOR)


class OneCase(BaseModel):
    """One of many cases."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(max_length=200)] | None = Field(None, description="Comes back with the advice.")
    given: Given = []
    unavailable: Unavailable = []
    prior: Prior | None = Field(None, description=OWN_PRIOR)
    known: Known = []


class Batch(AdviserRequest):
    """Many cases of one problem, each advised on by itself."""

    cases: Annotated[list[OneCase], Field(min_length=1, max_length=1000)]


class AdviseParts(Advise):
    """Advice on a case, part by part as it is worked out."""

    parts: Annotated[list[Literal[NAMES]], Field(min_length=1, max_length=len(NAMES))] = Field(  # type: ignore[valid-type]
        list(BASIC), description="What is wanted, in this order; each comes as soon as it is there."
    )
    limits: dict[Literal[NAMES], Annotated[float, Field(gt=0)]] = Field(  # type: ignore[valid-type]
        {}, description="Seconds for single parts, at most what the server allows; `timeout` holds for the others."
    )


class Evaluate(AgentRequest):
    """Exact score of one agent, of several with commas between, or of all: as `rhoplan evaluate --json`."""

    world: POMDP | None = None
    cap: int | None = Field(None, ge=1, le=100_000)


class Solve(Request):
    """Certified bounds on the best plan: as `rhoplan solve --json`."""

    weight: float | None = Field(None, ge=0, description="Reward per unit of information; 0 if left out.")
    unit: Literal["nats", "bits"] = "nats"
    discount: float | None = Field(None, gt=0, le=1)
    horizon: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="Actions at most, and after them one that ends, where there is one; no limit if left out.",
    )
    gap: float = Field(1e-3, gt=0)
    time_limit: float = Field(600.0, gt=0, description="Seconds; the server's own limit is kept in any case.")
    method: Literal[METHODS] | None = Field(  # type: ignore[valid-type]
        None,
        description="How: reveal for observe-then-commit problems, many where they have dozens of tests, errands and "
        "grids for several hidden factors, points for any.",
    )
    check: bool = Field(
        False, description="Check both bounds by other code, for a few seconds (all methods but reveal)."
    )


class DrawPathway(Advise):
    """The recommended pathway as a tree."""

    smallest: float | None = Field(None, ge=0, le=1, description="Share of cases below which a branch is folded.")
    most_nodes: int | None = Field(None, ge=1, le=20_000)


class Compare(AdviserRequest):
    """Ways of deciding side by side, and reward against success over the weight."""

    frontier: bool = True
    high: float | None = Field(None, gt=0, description="Weight up to which the frontier is drawn.")


class WhatIf(CaseRequest):
    """Advice with other numbers than the model's, and where the first action flips."""

    own_prior: Prior | None = Field(None, description=OWN_PRIOR)
    prior: dict[str, float] | list[float] | None = Field(
        None, description="Other chances at the start of the case, once what is `known` is known."
    )
    costs: dict[str, Annotated[float, Field(ge=0)]] | None = None
    rewards: dict[str, dict[str, float]] | None = None
    first_prices: dict[str, Annotated[float, Field(ge=0)]] | None = None
    values: Annotated[dict[Annotated[str, Field(max_length=2000)], float], Field(max_length=200)] | None = Field(
        None, description="Other numbers by their ids, set one after the other."
    )
    base_weight: float | None = Field(None, ge=0, description="Weight of the advice that it is compared with.")
    flips: bool = Field(True, description="Whether to look for the values at which the first action changes.")
    only: list[Kind] | None = None
    most: int = Field(24, ge=0, le=10_000, description="How many `parameters` of each kind to tell.")
    budget: float | None = Field(None, gt=0, description="Seconds to look for flips.")


class Entry(BaseModel):
    """What a person did: a result (test and outcome), a test that is not available, or the commit that ends it."""

    model_config = ConfigDict(extra="forbid")

    test: Name | None = None
    outcome: Name | None = None
    unavailable: Name | None = None
    commit: Name | None = None
    why: Annotated[str, Field(max_length=2000, description="Why the advice was not followed.")] = ""
    agent: Adviser | None = Field(None, description="Who advised, where it is not the agent of the request.")

    @model_validator(mode="after")
    def _says_one_thing(self) -> Entry:
        said = {name for kind in KINDS for name in kind if getattr(self, name) is not None}
        if said not in KINDS:
            raise ValueError("an entry must have test and outcome, or unavailable, or commit, and nothing else")
        return self


class Journal(AdviserRequest):
    """A case as it went: the reply is its line of the case log, as `rhoplan advise --log` writes it."""

    entries: Annotated[list[Entry], Field(max_length=200, description="What was done, in order.")] = []  # noqa: RUF012
    prior: Prior | None = Field(None, description=OWN_PRIOR)
    known: Known = []  # noqa: RUF012


class Carry(Advise):
    """The plan to carry away, from where a case stands."""

    author: Annotated[str, Field(max_length=200, description="Who answers for the page.")] = ""
    card: bool = Field(False, description="One page of A4 to print instead.")


class Printed(Carry):
    """A page to print or to carry away. date: as it is printed."""

    date: Annotated[str, Field(max_length=40)] = ""


class Replay(BaseModel):
    """A case log: each line a case."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    text: Annotated[str, Field(min_length=1, description="The text of the log, or of one saved case.")]
    timeout: float | None = Field(None, gt=0, description="Seconds that it may take, at most what the server allows.")


class Upload(BaseModel):
    """The text of a model file, or of a problem file of others, and what to call it."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=60)]
    text: str
    language: Literal["yaml", "json", "toml", "pomdp", "pomdpx", "drn"] = "yaml"
    check_only: bool = Field(False, description="Keep nothing; say whether it is `sound`, and if not the `error`.")


Token = Annotated[str, Field(min_length=1, max_length=60, description="The table, by the token it was given.")]


class Draft(BaseModel):
    """A table and the column that says what it turned out to be."""

    model_config = ConfigDict(extra="forbid")

    table: Token
    target: Name = Field(description="The column that says what it turned out to be.")


class Learn(BaseModel):
    """A table, a plan, and how to split cases to see what the model costs."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    table: Token
    plan: dict[str, Any] = Field(description="A plan file as an object: prices, losses, target, and so on.")
    name: Annotated[str, Field(min_length=1, max_length=60)] = Field("learned", description="What to call the model.")
    folds: int = Field(3, ge=2, le=20, description="Folds of the cross-validation.")
    repeats: int = Field(1, ge=1, le=20, description="Rounds of folds.")
    group: Name | None = Field(None, description="A column no value of which is on both sides of a split.")
    time: Name | None = Field(None, description="A column by which the past is learned from and the future scored.")
    seed: int = Field(0, ge=0, lt=2**32, description="The same seed gives the same result.")
    timeout: float | None = Field(None, gt=0, description="Seconds that it may take, at most what the server allows.")


class Told(BaseModel):
    """A line of a stream of learning: how far it is, then the result, or why there is none."""

    progress: dict[str, int] | None = Field(None, description="Parts of the work that are `done`, `of` how many.")
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class Health(BaseModel):
    """That the server answers."""

    status: Literal["ok"]


class Fault(BaseModel):
    """What is wrong: code, field, a sentence, the line of an uploaded text, the row of a table, or a limit met."""

    code: str = Field(description="A stable name of the kind of fault, such as `likelihood-row-sum`.")
    field: str | None
    message: str
    line: int | None = None
    row: int | None = None
    limit: dict[str, float] | None = None


class Refused(BaseModel):
    """Every reply that is not a success."""

    error: Fault
