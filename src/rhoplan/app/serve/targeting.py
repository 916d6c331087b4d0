"""The addresses /api/v1/target and /api/v1/frontier: what they take and what they reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from rhoplan.app.serve import schema
from rhoplan.app.serve.replying import API

Value = Annotated[
    Annotated[str, Field(min_length=1, max_length=60)] | Annotated[float, Field(ge=0)],
    Field(examples=["1 in 1,000", "99%", 0.001]),
]
ByState = Value | Annotated[dict[schema.Name, Value], Field(min_length=1, max_length=50)]


class Frontier(schema.Request):
    """The cost of pathways against the errors that they leave."""

    state: schema.Name | None = Field(
        None, description="What misses are about; the model's positive state if left out."
    )
    horizon: int | None = Field(
        None, ge=1, le=50, description="Tests that a pathway may have; as many as fit if left out."
    )


class DrawFrontier(Frontier):
    """The frontiers, and where asked for what tests cost, misses and false alarms come to together."""

    lower_set: bool = Field(
        False, description="Whether to tell the corners of tests, misses and false alarms together."
    )


class Meet(Frontier):
    """Targets for a pathway; those in the model where none is given."""

    miss: ByState | None = Field(None, description="Share of all cases that may be missed, for one state or several.")
    sensitive: ByState | None = Field(None, description="Sensitivity to be reached.")
    false_alarm: ByState | None = Field(None, description="Share of all cases that may be false alarms.")
    specific: ByState | None = Field(None, description="Specificity to be reached.")
    wrong: Value | None = Field(None, description="Share of all cases that may end with a wrong decision.")
    spend: Value | None = Field(None, description="What tests may cost on average.")
    minimise: Literal["cost", "spend"] = Field(
        "cost", description="Tests and the errors without a target at the model's prices, or tests alone."
    )
    trees: bool = Field(False, description="Whether to tell the pathway of each plan.")


class Numbers(BaseModel):
    """What a plan comes to, on average over all cases."""

    first: str = Field(description="Its first action; empty for a mix.")
    spend: float = Field(description="What tests cost.")
    loss: float = Field(description="What wrong decisions lose, at the model's prices.")
    wrong: float = Field(description="Share of cases that end with a wrong decision.")
    missed: dict[str, float] = Field(description="The same for each diagnosis that is there, as shares of all cases.")
    reached: list[float] = Field(description="What it makes of each target, in the target's own terms.")
    cost: float = Field(description="What is minimised.")


class SetTarget(BaseModel):
    """A target as it was understood."""

    kind: Literal["miss", "sensitive", "false-alarm", "specific", "wrong", "spend"]
    value: float
    state: str
    limit: float | None = Field(
        description="The same as a share of all cases, or an amount; null where not worked out."
    )
    words: str


class Part(BaseModel):
    """A plan, and the share of cases that follow it."""

    share: float
    numbers: Numbers
    pathway: str | None = Field(description="The plan as numbered text, where it was asked for.")


class Price(BaseModel):
    """What keeping a target acts as if an error cost, and what the model counts it as, least and most."""

    kind: str
    state: str
    price: float
    own: list[float]


class Met(BaseModel):
    """The cheapest way to keep the targets."""

    problem: str
    kind: Literal["exact"]
    reward_unit: str
    targets: list[SetTarget]
    minimised: str
    depth: int = Field(description="Tests that a pathway may have.")
    whole: bool = Field(description="Whether no pathway could have more.")
    mixture: list[Part]
    together: Numbers
    gap: float = Field(description="No plan and no mix costs less than `together` by more than this.")
    prices: list[Price]
    certain: Part | None = Field(description="The cheapest plan without chance that was found.")
    certain_least: float | None = Field(description="No plan without chance costs less; null where there is none.")
    proven: bool = Field(description="Whether `certain` is the cheapest, or it is sure that there is none.")
    plain: Part = Field(description="The plan by the model's own prices.")
    words: list[str]
    version: str


class Corner(BaseModel):
    """The cheapest plan where an error costs from `low` to `high`; null for no limit."""

    share: float
    cost: float
    low: float
    high: float | None
    numbers: Numbers


class Edge(BaseModel):
    """Cost against the share of cases with one kind of error: every corner of all plans and their mixes."""

    problem: str
    reward_unit: str
    kind: Literal["miss", "false-alarm", "wrong"]
    state: str
    counts: str
    depth: int = Field(description="Tests that a pathway may have.")
    whole: bool = Field(description="Whether no pathway could have more.")
    points: list[Corner]
    complete: bool
    own: list[float]
    plain: Corner


class LowerSet(BaseModel):
    """The corners of tests, misses and false alarms together; `reached` has the shares of the last two."""

    state: str
    depth: int
    corners: list[Numbers]
    complete: bool


class Edges(BaseModel):
    """The frontiers of a model."""

    frontiers: list[Edge]
    state: str | None
    states: list[str]
    targets: list[SetTarget] = Field(description="Those in the model.")
    lower_set: LowerSet | None


def add_targets(app: FastAPI, answer: Callable[[str, schema.Request, Request], Awaitable[Response]]) -> None:
    """Add the addresses; `answer` has a worker do a task."""

    @app.post(f"{API}/target", responses={200: {"model": Met}}, tags=["planning"], operation_id="meet_targets")
    async def meet_targets(body: Meet, client: Request) -> Response:
        """The cheapest pathway that keeps targets, as a mix of plans and without chance; exact."""
        return await answer("target", body, client)

    @app.post(f"{API}/frontier", responses={200: {"model": Edges}}, tags=["planning"], operation_id="draw_frontier")
    async def draw_frontier(body: DrawFrontier, client: Request) -> Response:
        """The frontier of cost against misses and against false alarms, or wrong decisions: its exact corners."""
        return await answer("frontier", body, client)
