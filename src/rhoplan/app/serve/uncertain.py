"""The address `uncertainty`: what a request holds and what the reply holds; `uncertain_tasks` works it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from rhoplan.advice.uncertain.uncertainty import MOST_SAMPLES
from rhoplan.app.serve.replying import API
from rhoplan.app.serve.schema import Advise

if TYPE_CHECKING:
    from rhoplan.app.serve.app import Desk

SAMPLES = 1000
"""Versions that are drawn when nobody says how many: somebody waits."""

Id = Annotated[str, Field(min_length=1, max_length=2000)]


class AskUncertainty(Advise):
    """What the uncertain numbers of a model mean for the plan from where a case stands: `rhoplan uncertainty --json`.

    Results known at the start are refused: how likely they were counts, so they are given as what was seen.
    """

    samples: int = Field(SAMPLES, ge=2, le=MOST_SAMPLES, description="Versions of the numbers that are drawn.")
    seed: int = Field(0, ge=0, lt=2**63, description="The same seed draws the same versions.")
    spread: float | None = Field(
        None, gt=0, lt=1, description="Take every number as known to within this share of itself: an assumption."
    )
    map: Annotated[list[Id], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Ids of the two numbers of the map."
    )
    cases_per_year: float | None = Field(None, gt=0, le=10**9, description="To tell what knowing is worth in a year.")


class FirstAction(BaseModel):
    """In which share of versions an action is the right one to begin with."""

    action: str
    share: float
    se: float


class ChanceRight(BaseModel):
    """In which share of versions the plan begins rightly, and the standard error of that."""

    share: float
    se: float


class Total(BaseModel):
    """Loss or reward per case of the plan, on average over the numbers, and its 95% interval, which is estimated."""

    mean: float
    kind: Literal["exact", "estimated"]
    se: float
    low: float
    high: float


class ValueOfKnowing(BaseModel):
    """What knowing is worth per case, and in a year."""

    value: float
    kind: Literal["exact", "estimated"]
    se: float
    samples: int | None
    seed: int | None
    per_year: float | None


class ValueOfStudy(ValueOfKnowing):
    """What knowing something is worth; ids: of the numbers that it would tell."""

    name: str
    ids: list[str]


class TornadoEnd(BaseModel):
    """A number at one end: totals of the plan as it is and of the best one there, and what that does first."""

    value: float
    kept: float
    best: float
    first: str


class TornadoRow(BaseModel):
    """One number at the ends of its 95% interval, the others as stated."""

    id: str
    name: str
    quantity: Literal["probability", "money", "weight"]
    value: float
    low: TornadoEnd
    high: TornadoEnd


class MapAxis(BaseModel):
    """One side of the map."""

    id: str
    name: str
    quantity: Literal["probability", "money", "weight"]
    value: float
    values: list[float]


class FirstMap(BaseModel):
    """The first action over two numbers, as places among `actions`; rows go with `down`, from its lowest value."""

    across: MapAxis
    down: MapAxis
    actions: list[str]
    first: list[list[int]]


class CurvePoint(BaseModel):
    """Net benefit per case at one threshold; that of leaving everybody alone is 0."""

    threshold: float
    plan: float
    everybody: float
    tested: float | None


class DecisionCurve(BaseModel):
    """Net benefit over the threshold, exact; own: the model's own threshold."""

    diagnosis: str
    action: str
    own: float
    points: list[CurvePoint]


class UncertaintyReply(BaseModel):
    """What uncertain numbers mean for the plan from where the case stands; the curve is told before any test is run."""

    problem: str
    agent: str
    reward_unit: str
    version: str
    samples: int
    seed: int
    assumed_spread: float | None
    stake: Literal["loss", "reward"]
    cases_per_year: float | None
    given: list[list[str]] = Field(description="What was seen, pairs of test and outcome.")
    unavailable: list[str]
    words: list[str] = Field(description="What to bear in mind.")
    first: str
    chance_right: ChanceRight
    first_actions: list[FirstAction]
    total: Total
    everything: ValueOfKnowing
    studies: list[ValueOfStudy]
    numbers: list[ValueOfStudy]
    tornado: list[TornadoRow]
    map: FirstMap | None
    curve: DecisionCurve | None


def add_uncertainty(app: FastAPI, desk: Desk) -> None:
    """Add the address to `app`."""

    @app.post(
        f"{API}/uncertainty",
        responses={200: {"model": UncertaintyReply, "description": "The result"}},
        tags=["planning"],
        operation_id="uncertainty",
    )
    async def uncertain(body: AskUncertainty, client: Request) -> Response:
        """What uncertain numbers mean: how often the first action is right, and which numbers are worth knowing."""
        return await desk.answer("uncertainty", body, client)
