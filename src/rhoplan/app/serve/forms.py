"""The addresses behind the form: a text as a form, a form as text with what is wrong beside its field, conversions,
and saving to the file that a model came from."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import FastAPI
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from rhoplan.app.serve.refusals import success
from rhoplan.app.serve.replying import API, Replies, response
from rhoplan.app.serve.schema import Fault, Name
from rhoplan.app.serve.sources import NO_MODEL, Source, check_name
from rhoplan.errors import ProblemError
from rhoplan.io.form import Form

if TYPE_CHECKING:
    from rhoplan.app.serve.app import Desk

ModelTitle = Annotated[str, Field(min_length=1, max_length=60)]
Number = Annotated[str, Field(max_length=100)] | float
Numbers = Annotated[dict[Name, Number], Field(max_length=100)]


class Closed(BaseModel):
    """A request with known fields only."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Text(Closed):
    """The text of a model file."""

    text: str
    language: Literal["yaml", "json", "toml", "pomdp", "pomdpx", "drn"] = "yaml"
    name: ModelTitle = "model"


class FormReply(BaseModel):
    """A model file as a form."""

    form: Form


class Check(Closed):
    """A form, filled in as far as it is."""

    form: Form
    name: ModelTitle = Field("model", description="What the model is called where the form has no title.")
    text: str = Field("", description="The YAML it was made from, if any: its comments and layout stay.")


class Caution(BaseModel):
    """What looks wrong in the numbers of a model."""

    kind: str
    text: str
    about: str


class ReadTest(BaseModel):
    """What the numbers of a test come to; rates and ratios where it has two results and a state is looked for."""

    name: str
    outcomes: list[str]
    likelihood: list[list[float]] = Field(description="Of each state, the probability of each outcome.")
    sensitivity: float | None
    specificity: float | None
    lr_positive: float | None
    lr_negative: float | None
    words: str = Field(description="What it finds in a thousand cases.")


class Turn(BaseModel):
    """The decision that is the better one of two from a chance of the state looked for on."""

    act: str
    at: float


class ReadDecision(BaseModel):
    """What a decision comes to in each state: losses, where the model counts losses."""

    name: str
    amounts: list[float]


class Read(BaseModel):
    """What the numbers of a form come to."""

    states: list[str]
    prior: list[float]
    tests: list[ReadTest]
    decisions: list[ReadDecision]
    threshold: Turn | None = Field(description="Where two decisions change places.")


class Checked(BaseModel):
    """A form as the text of a model file, and whether that is sound."""

    text: str | None = Field(description="Null where names are missing or stand twice.")
    sound: bool
    error: Fault | None = Field(description="The first thing that is wrong; its field is a place in the model file.")
    read: Read | None
    cautions: list[Caution]


class Threshold(Closed):
    """The chance from which on one acts, and what one of the mistakes costs."""

    act: Name
    otherwise: Name
    at: Number
    false_alarm: float | None = None
    miss: float | None = None


class QuotedTest(Closed):
    """A test as people quote it, in one of the ways; as in a model file."""

    sensitivity: Number | None = None
    specificity: Number | None = None
    lr_positive: float | None = None
    lr_negative: float | None = None
    tp: int | None = None
    fn: int | None = None
    fp: int | None = None
    tn: int | None = None
    ppv: Number | None = None
    npv: Number | None = None
    share_positive: Number | None = None
    shares: Numbers | None = Field(None, description="Of all people, the share in each group.")
    chances: Annotated[dict[Name, Number | Numbers], Field(max_length=100)] | None = Field(
        None, description="In each group the chance of the positive state, or of each state."
    )


class Quoted(Closed):
    """Numbers as people quote them: a test, a threshold or utilities."""

    states: Annotated[list[Name], Field(min_length=2, max_length=50)] = ["other", "positive"]
    positive: Name | None = Field(None, description="The state that is looked for; of two states the last if left out.")
    test: QuotedTest | None = None
    threshold: Threshold | None = None
    utilities: Annotated[dict[Name, Numbers], Field(max_length=50)] | None = None
    worth: float | None = Field(None, description="What one of utility is, in the unit of losses.")


class Converted(BaseModel):
    """What quoted numbers mean."""

    outcomes: list[str] | None = None
    likelihood: dict[str, list[float]] | None = Field(None, description="By state, the probability of each outcome.")
    prior: dict[str, float] | None = Field(None, description="Of the people that the test is quoted for.")
    losses: dict[str, dict[str, float]] | None = Field(None, description="By decision and state.")


class Save(Closed):
    """The text of a model, for the file that it came from."""

    name: ModelTitle
    text: str


class SavedReply(BaseModel):
    """What was written."""

    name: str
    file: str
    backup: str | None = Field(description="The file beside it that has the old text.")


def replied(kind: type[BaseModel]) -> Replies:
    return {200: {"model": kind}}


def add_forms(app: FastAPI, desk: Desk) -> None:
    @app.post(f"{API}/form/read", responses=replied(FormReply), tags=["models"], operation_id="read_form")
    async def read_form(body: Text) -> Response:
        """The text of a model file as a form."""
        return response(await desk.ask("form-read", Source(body.name, body.text, body.language), {}))

    @app.post(f"{API}/form/check", responses=replied(Checked), tags=["models"], operation_id="check_form")
    async def check_form(body: Check) -> Response:
        """A form as text, whether it is a sound model, what its numbers come to, or the first thing that is wrong."""
        return response(await desk.ask("form-check", NO_MODEL, {**body.model_dump(), "form": asdict(body.form)}))

    @app.post(f"{API}/convert", responses=replied(Converted), tags=["models"], operation_id="convert")
    async def convert(body: Quoted) -> Response:
        """Quoted numbers as likelihoods and prior, a threshold or utilities as losses."""
        given: dict[str, Any] = body.model_dump(exclude_none=True)
        if len(body.states) == 2:
            given.setdefault("positive", body.states[-1])
        return response(await desk.ask("convert", NO_MODEL, {"quoted": given}))

    @app.post(f"{API}/save", responses=replied(SavedReply), tags=["models"], operation_id="save_model")
    async def save_model(body: Save) -> Response:
        """Write a model, which must be sound, to the file it came from, or a new one into the folder that is served.

        The old text is kept beside the file. Files that the server was not started with cannot be named.
        """
        if desk.files.file_of(body.name) is None:
            check_name(body.name)
            if any(row["opened"] and row["name"] == body.name for row in desk.library.listed()):
                raise ProblemError(
                    f"'{body.name}' was opened from a file that is not saved to (only YAML is; where others can "
                    "reach the server, with --save only): choose another name, or download it",
                    field=("name",),
                )
        source = Source(body.name, body.text)
        status, found = await desk.ask("check", source, {})
        if status != 200:
            return response((status, found))
        saved = desk.files.save(body.name, body.text)
        desk.library.renew(source)
        return response(success({"name": body.name, **asdict(saved)}))
