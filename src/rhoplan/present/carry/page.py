"""The plan as one interactive HTML file: no server, no request, nothing but this file.

Its policy allows the two texts that stand in it, by their digests, and nothing else: what a model says cannot run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from rhoplan.advice.carried import Carried
from rhoplan.present.carry.data import plan_data
from rhoplan.present.origin import DISCLAIMER, Origin
from rhoplan.present.page.parts import safe
from rhoplan.present.signed import signed


def carried_page(carried: Carried, origin: Origin) -> str:
    """The whole file."""
    style, script = _texts()
    title = safe(origin.title)
    facts = "".join(f"<dt>{safe(name)}</dt><dd>{safe(value)}</dd>" for name, value in origin.facts)
    info = carried.problem.details.get("info")
    made_up = " The numbers of this model are made up." if isinstance(info, dict) and info.get("illustrative") else ""
    text = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'><meta name='color-scheme' "
        "content='light dark'><link rel='icon' href='data:,'>"
        f"<title>{title}</title><style>{style}</style></head><body>"
        f"<header><h1>{title}</h1><p class='quiet'>What to do next, step by step. Costs in "
        f"{safe(carried.problem.unit)}.</p>{_start(carried)}</header>"
        "<p id='said' class='said' role='status' hidden></p>"
        "<p id='spoken' class='unseen' aria-live='polite'></p><main id='main'></main>"
        f"<footer><p>{safe(DISCLAIMER)}{made_up}</p><details><summary>About this file</summary><p id='covers'></p>"
        f"<dl>{facts}</dl></details></footer>"
        "<noscript><p class='said'>This file needs JavaScript; the card and the report do without.</p></noscript>"
        f"<script type='application/json' id='plan'>{as_script(plan_data(carried))}</script>"
        f"<script>{script}</script></body></html>\n"
    )
    return signed(text, carried.model, carried.agent.settings)


def _start(carried: Carried) -> str:
    """What the plan starts from, where that is not the start of the model."""
    told = carried.standing.words(carried.model)
    rows = "".join(f"<li>{safe(words)}</li>" for words in told)
    return f"<div class='note'>This plan starts from one case:<ul>{rows}</ul></div>" if told else ""


def policy() -> str:
    """What the file may do: run its own script, use its own style, show pictures that it holds."""
    style, script = map(_digest, _texts())
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _texts() -> tuple[str, str]:
    """The style and the script."""
    folder = files("rhoplan.present.carry")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("carry.css", "carry.js"))
    return style, script


def as_script(data: Any) -> str:
    """`data` as JSON that may stand in a page: nothing in it can end the element or begin another."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
