"""Tables of the documentation that are made from the program: the HTTP API, and what the report warns of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import faults

WORDS = {
    "agent": "who plans: a name of `rhoplan list`; `planning` counts cost only, `planning-ig` takes a weight",
    "seed": "of planners that sample",
    "world": "the problem that draws states and outcomes, where the agent's model is wrong",
    "cap": "steps after which an episode is cut off",
    "gap": "how close the bounds must come",
    "prior": "other probabilities of the states",
    "costs": "other prices of tests, by name",
    "rewards": "other rewards, by commit and state; a loss is a negative reward",
    "first_prices": "other first prices of groups, by name",
    "only": "kinds of number to look at for flips: prior, weight, cost, first-price, reward or loss, likelihood",
    "frontier": "whether to follow the plan over the weight",
    "most_nodes": "steps and leaves at most; what is beyond is folded",
    "name": "what to call the model",
    "text": "the file's text",
    "language": "how it is written: the ending of its file",
}
"""What fields hold that the schema does not describe itself."""

LEFT_OUT = {
    "timeout": "the server's limit",
    "weight": "the agent's own",
    "planner": "the problem's own",
    "precision": "the best action",
    "time": "no limit",
    "target": "needed by `target-belief`",
    "given": "nothing seen yet",
    "entries": "nothing done yet",
    "unavailable": "all can be had",
    "known": "nothing is known",
    "own_prior": "the model's",
    "world": "the agent's model",
    "cap": "the problem's own",
    "high": "the largest reward",
    "prior": "the model's",
    "costs": "the model's",
    "rewards": "the model's",
    "first_prices": "the model's",
    "base_weight": "the agent's own",
    "values": "the model's",
    "only": "all kinds",
    "budget": "a few seconds",
}
"""What happens without a field that has no plain default."""

LEFT_OUT_OF = {
    "Solve": {"weight": "0", "horizon": "no limit", "method": "what fits the problem"},
    "Learn": {"group": "no such column", "time": "splits are by chance"},
    "AskUncertainty": {
        "spread": "as the model states",
        "map": "the two most worth knowing",
        "cases_per_year": "told per case only",
    },
}
"""The same for fields of one request whose names mean something else in others."""


def made(name: str) -> str:
    """What a page asks for by `name`: `addresses`, `limits`, `fields CLASS`, `warning KIND`, or a table on faults."""
    kind, _, rest = name.partition(" ")
    makers: dict[str, Callable[..., str]] = {
        "addresses": addresses,
        "limits": limits,
        "fields": fields,
        "warning": warning,
        "faults": faults.scores,
        "fresh": faults.fresh,
        "survivors": faults.survivors,
    }
    return makers[kind](*([rest] if rest else []))


WARNED = {
    "inert weight": ("screening-cascade", "efe", {}),
    "dominant weight": ("screening-cascade", "planning-ig", {"weight": 5000.0}),
    "cost-only better": ("printer", "efe", {}),
    "short horizon": ("printer", "efe", {"horizon": 2}),
    "unused test": ("chest-pain", "efe", {}),
}
"""Worked models and agents of which the report warns."""


def warning(kind: str) -> str:
    """The warning of this kind that the report on a worked model has, as a quotation."""
    import rhoplan
    from rhoplan.advice.cautions import cautions
    from rhoplan.agents.agent import make_agent

    name, agent, settings = WARNED[kind]
    problem = rhoplan.make(name)
    found = cautions(problem, make_agent(agent, problem, **settings))
    return next(f"> {name}: {caution.text}\n" for caution in found if caution.kind == kind)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@cache
def openapi() -> dict[str, Any]:
    """What the server says about itself."""
    from rhoplan.app.serve.app import create_app

    return create_app().openapi()


def addresses() -> str:
    rows = [
        [f"`{method.upper()} {path}`", what["description"].split("\n")[0]]
        for path, methods in openapi()["paths"].items()
        for method, what in methods.items()
    ]
    return table(["address", "what comes back"], rows)


def fields(name: str) -> str:
    """The fields that the request class `name` adds to those of the classes it is made from."""
    from rhoplan.advice.pathway import MOST_NODES, SMALLEST
    from rhoplan.agents.settings import SETTINGS
    from rhoplan.app.serve import schema, targeting, uncertain

    words = {**WORDS, **{one.name: one.help for one in SETTINGS.values()}}
    own = {one.name: one.otherwise for one in SETTINGS.values() if one.otherwise}
    without = {**own, **LEFT_OUT, "smallest": f"`{SMALLEST:g}`", "most_nodes": f"`{MOST_NODES}`"}
    model = getattr(schema, name, None) or getattr(targeting, name, None) or getattr(uncertain, name)
    shared = {field for base in model.__bases__ for field in getattr(base, "model_fields", {})}
    described = model.model_json_schema()
    rows = []
    for field, holds in described["properties"].items():
        if field in shared:
            continue
        what = holds.get("description") or words.get(field, "")
        default = holds.get("default")
        usual = without if what == words.get(field, what) else LEFT_OUT  # one with words of its own tells it itself
        usual = {**usual, **LEFT_OUT_OF.get(name, {})}
        left_out = usual.get(field, "") if default in (None, []) else f"`{default}`".lower()
        left_out = "needed" if field in described.get("required", ()) else left_out
        rows.append([f"`{field}`", kind_of(holds), in_a_row(what), left_out])
    return table(["field", "holds", "what it is", "if left out"], rows)


def in_a_row(sentence: str) -> str:
    """`sentence` as a cell of a table has it; an abbreviation keeps its capitals."""
    first = sentence[:1] if sentence[1:2].isupper() else sentence[:1].lower()
    return first + sentence[1:].rstrip(".")


def kind_of(holds: dict[str, Any]) -> str:
    """What a field may hold, in words, from its JSON schema."""
    if "anyOf" in holds:
        return " or ".join(kind_of(one) for one in holds["anyOf"] if one.get("type") != "null")
    if "$ref" in holds:
        return "object"
    if "enum" in holds:
        return ", ".join(f"`{value}`" for value in holds["enum"])
    if holds["type"] == "array":
        items = holds["items"]
        words = {"string": "names", "number": "numbers", "array": "pairs"}
        return f"list of {words.get(items.get('type'), 'objects')}"
    plain = {"string": "text", "object": "object", "boolean": "true or false"}
    limits = [
        f"{sign} {holds[key]:,}"
        for sign, key in (("≥", "minimum"), (">", "exclusiveMinimum"), ("≤", "maximum"), ("<", "exclusiveMaximum"))
        if key in holds and abs(holds[key]) < 2**53
    ]
    if holds["type"] in plain:
        return plain[holds["type"]]
    return " ".join([{"integer": "whole number", "number": "number"}[holds["type"]], ", ".join(limits)]).strip()


def limits() -> str:
    """The limits of a server that was started without options."""
    from rhoplan.app.serve.settings import Settings

    settings = Settings()
    rows = [
        ["largest request", f"{settings.request_bytes:,} bytes", "`--bytes`", "413, `bytes`"],
        ["time to plan for one request", f"{settings.seconds:g} s", "`--seconds`", "413, `seconds`"],
        ["head of a request", f"{settings.header_bytes:,} bytes", "", "431, `bytes`"],
        ["time to send a request", f"{settings.send_seconds:g} s", "`--send-seconds`", "408, `seconds`"],
        ["requests being sent, together", f"{settings.held_bytes:,} bytes", "", "429"],
        ["connections", f"{settings.connections}", "`--connections`", "who waits longest for its client goes"],
        ["situations in one plan", f"{settings.nodes:,}", "`--nodes`", "413, `nodes`"],
        ["memory of a worker process", f"{settings.memory / 1e9:g} GB", "`--memory`", "413, `memory_bytes`"],
        ["wait for a free worker", f"{settings.patience:g} s", "", "429, `wait_seconds`"],
        ["largest table to learn from", f"{settings.table_bytes:,} bytes", "", "413, `bytes`"],
        ["time to learn from one", f"{settings.learn_seconds:g} s", "`--learn-seconds`", "413, `seconds`"],
        ["tables kept", f"{settings.tables}", "", "the longest unused one goes"],
        ["a table is kept", f"{settings.table_expiry / 3600:g} h after its last use", "", "it is forgotten"],
        ["uploaded models kept", f"{settings.uploads}", "", "the longest unused one goes"],
        ["their text together", f"{settings.upload_bytes:,} bytes", "", "the longest unused ones go"],
        ["an uploaded model is kept", f"{settings.expiry / 3600:g} h after its last use", "", "it is forgotten"],
        ["replies kept to be given again", f"{settings.reply_bytes:,} bytes", "", "the longest unused ones go"],
    ]
    return table(["limit", "default", "option of `serve`", "beyond it"], rows)
