"""What the code holds as published is what the paper prints: every table cell, every quoted figure, both ways."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bridge import Cell, Claim, Quote, cell, published, select
from bridge import PaperPart as Part
from bridge import PaperRow as Row
from bridge import PaperTable as Table
from rhoplan import list_agents

PAPER = Path(__file__).resolve().parents[3] / "shared" / "paper"

REACH = 250
"""A quoted number stands at most this many characters from the words that locate it."""

SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "eta": "η", "rho": "ρ", "Delta": "Δ", "times": "×", "pm": "±",
    "gg": "≫", "ll": "≪", "geq": "≥", "leq": "≤", "neq": "≠", "approx": "≈", "sim": "~", "to": "→", "in": "∈",
    "infty": "∞", "cdot": "·", "ln": "ln", "log": "log", "max": "max", "min": "min", "lceil": "⌈", "rceil": "⌉",
}  # fmt: skip
PROPOSITIONS = {"prop:equivalence": "1", "prop:nearopt": "2", "prop:factored": "3"}

# How the paper names agents, with what an agent's definition fixes.
AGENT_KEYS: dict[str, dict[str, str | float]] = {
    "Myopic": {"agent": "myopic", "weight": 0, "horizon": 1},
    "Planning": {"agent": "planning", "weight": 0},
    "Info Gain": {"agent": "info-gain", "horizon": 1},
    "Planning+IG": {"agent": "planning-ig"},
    "EFE": {"agent": "efe", "weight": 1},
    "Epistemic-only": {"agent": "epistemic-only"},
    "Greedy": {"agent": "greedy"},
    "POMCP": {"agent": "pomcp"},
    "NavMyopic": {"agent": "nav-myopic"},
    "NavInfoGain": {"agent": "info-gain", "weight": 1, "horizon": 1},
    "NavEFE": {"agent": "efe", "weight": 1},
}

# How row heads, column heads and captions name problems; the first that fits counts.
PROBLEM_WORDS = {
    r"RS\[(\d+),(\d+)\]": "rocksample:n={},k={}",
    r"^N=(\d+) \|S\|": "inspection:n={}",
    r"^(\d)×\d$": "navigation:n={}",
    r"Navigation": "navigation:n=3",
    r"Tileworld \(?(\d)×": "tileworld:n={}",
    r"Tileworld": "tileworld:n=6",
    r"^Diagnosis N=(\d+)|^(\d+)$": "diagnosis:n={}",
    r"[Dd]iagnosis": "diagnosis",
    r"[Tt]iger": "tiger",
    r"[Bb]andit": "bandit",
    r"[Tt]estbed": "testbed",
}

NUMBER = re.compile(r"(?<![\w.^])[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?%?")

# The same quantity printed twice with different values, or one value printed for two settings: (quote, column, agent).
KNOWN_DISAGREEMENTS = {
    ("bootstrap-bandit", "reward", "efe"),
    ("bootstrap-diagnosis", "reward", "efe"),
    ("bootstrap-diagnosis", "reward", "planning"),
    ("tileworld-8-collapse", "success", "efe"),
    ("tileworld-8-collapse", "success", "planning"),
    ("tileworld-8-collapse", "success", "planning-ig"),
    ("partition-efe", "reward", "efe"),
    ("partition-efe", "success", "efe"),
    ("partition-planning", "reward", "planning"),
    ("rocksample-bad", "bad", "greedy"),
    ("depth-amplifies", "tests", "info-gain"),
    ("mcts-tileworld", "success", "efe"),
    ("mcts-tileworld", "reward", "efe"),
}


@dataclass(frozen=True)
class Printed:
    """A table as the LaTeX has it. A row holds the words of the last spanning line above it and its cells."""

    label: str
    place: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Passage:
    """A paragraph or caption as plain text, with where it stands, and its LaTeX label if it is a caption with one."""

    place: str
    text: str
    label: str = ""


Source = tuple[list[Printed], list[Passage]]


def plain(latex: str) -> str:
    """LaTeX as text: no markup, symbols as characters, no space around relations."""
    text = re.sub(r"\\multirow\{\d+\}\{\*\}|\\shortstack\[l\]|\\multicolumn\{\d+\}\{l\}", "", latex)
    text = re.sub(r"\\\\\[[^]]*\]", " ", text)
    text = re.sub(r"\\(citep|citet|label|url|includegraphics|begin|end)(\[[^]]*\])*(\{[^{}]*\})?(\[[^]]*\])?", "", text)
    text = re.sub(r"\\ref\{([^{}]*)\}", lambda found: PROPOSITIONS.get(found[1], "@"), text)
    text = re.sub(r"\\[dt]?frac\{?(\w)\}?\{?(\w)\}?", r"\1/\2", text)
    text = text.replace("--", "–").replace("~", " ").replace(r"\;", " ").replace(r"\%", "%").replace("\\ ", " ")
    text = re.sub(r"\\([A-Za-z]+)", lambda found: SYMBOLS.get(found[1], ""), text)
    text = re.sub(r"\\.|[{}$]", "", text)
    text = re.sub(r"\s*([<>=≥≤≈±≪≫])\s*", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()


def squeezed(text: str) -> str:
    """A text of ours in the spacing that `plain` leaves."""
    return re.sub(r"\s*([<>=≥≤≈±≪≫~])\s*", r"\1", text)


def read(source: str) -> tuple[list[Printed], list[Passage]]:
    """The paper's tables, and its running text and captions without the tables."""
    body = source[source.index(r"\begin{abstract}") :].replace(r"\begin{abstract}", "\\section*{Abstract}\n")
    tables, passages = [], []
    section = subsection = paragraph = ""
    count: Counter[str] = Counter()
    lettered = False
    inside = ""
    held: list[str] = []
    for line in body.splitlines():
        lettered = lettered or line.startswith(r"\appendix")
        if line.startswith(r"\appendix"):
            count["section"] = 0
        if heading := re.match(r"\\(section|subsection|paragraph)(\*?)\{", line):
            title, after = braces(line[heading.end() - 1 :])
            if heading[1] == "paragraph":
                paragraph = plain(title).removesuffix(".")
            elif heading[1] == "subsection":
                count["subsection"] += 1
                subsection, paragraph = f"{section.split()[0]}.{count['subsection']} {plain(title)}", ""
            else:
                count["section"] += not heading[2]
                count["subsection"] = 0
                mark = chr(64 + count["section"]) if lettered else str(count["section"])
                section, subsection, paragraph = plain(title) if heading[2] else f"{mark} {plain(title)}", "", ""
            line = plain(title) + " " + after if heading[1] == "paragraph" else after
        place = ", ".join(filter(None, (subsection or section, paragraph)))
        if opening := re.match(r"\\begin\{(table|figure)\}", line):
            inside = opening[1].capitalize()
            count[inside] += 1
            held = []
            continue
        if inside == "Table" and r"\end{table}" in line:
            tables.append(printed("\n".join(held), f"Table {count['Table']}, {place}"))
        if re.match(r"\\end\{(table|figure)\}", line):
            inside = ""
            continue
        held.append(line)
        if line.startswith(r"\caption{"):
            caption = plain(braces(line[len(r"\caption") :])[0])
            passages.append(Passage(f"{place}, caption of {inside} {count[inside]}", caption))
        elif inside and (label := re.match(r"\\label\{(.*)\}", line)):
            passages[-1] = replace(passages[-1], label=label[1])
        elif not inside and plain(line):
            passages.append(Passage(place, plain(line)))
    return tables, passages


def braces(text: str) -> tuple[str, str]:
    """What stands in the braces that `text` opens with, and what comes after them."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return text[1:place], text[place + 1 :]
    raise AssertionError(f"unbalanced braces: {text[:60]}")


def printed(latex: str, place: str) -> Printed:
    label = re.search(r"\\label\{([^}]*)\}", latex)
    caption = braces(latex[latex.index(r"\caption{") + len(r"\caption") :])[0]
    body = latex[latex.index(r"\toprule") + len(r"\toprule") : latex.index(r"\bottomrule")]
    head, *rest = body.split(r"\midrule")
    heads = tuple(plain(part) for part in head.strip().removesuffix(r"\\").split("&"))
    rows, group = [], ""
    for line in re.split(r"\\\\(?!\[)", "".join(rest)):
        cells = tuple(plain(part) for part in line.split("&"))
        if len(cells) > 1:
            rows.append((group, cells))
        elif cells[0]:
            group = cells[0]
    return Printed(label[1] if label else "", place, plain(caption), heads, tuple(rows))


@pytest.fixture(scope="module")
def source() -> Source:
    found = sorted(PAPER.glob("*.txt")) if PAPER.is_dir() else []
    if not found:
        pytest.skip("the paper's text is not beside this checkout (shared/paper)")
    return read(found[0].read_text(encoding="utf-8"))


def test_tables_are_those_of_the_paper(source: Source) -> None:
    held = [(one.label, one.place) for one in published().tables.values()]
    assert held == [(one.label, one.place) for one in source[0]]


@pytest.mark.parametrize("ident", published().tables)
def test_every_cell_stands_in_its_row_and_column(source: Source, ident: str) -> None:
    held, on_paper = both(ident, source)
    names, values = columns(held, on_paper)
    if not values:
        assert not any(re.search(r"\d", text) for _, cells in on_paper.rows for text in cells)
        return
    above = dict.fromkeys(names, "")
    lines = []
    for _, cells in on_paper.rows:
        above = {place: cells[place] or above[place] for place in names}
        lines.append((tuple(above.values()), [cells[place] for place in values]))
    ours = [[squeezed(one.text) for one in cells] for cells in by_row(held)]
    assert list(zip(held.labels, ours, strict=True)) == lines


@pytest.mark.parametrize("ident", published().tables)
def test_row_keys_are_what_heads_and_caption_say(source: Source, ident: str) -> None:
    held, on_paper = both(ident, source)
    heads = [on_paper.heads[place] for place in columns(held, on_paper)[0]]
    for label, (group, _), cells in zip(held.labels, on_paper.rows, by_row(held), strict=False):
        head = dict(zip(heads, label, strict=True))
        for one, column in zip(cells, held.columns.values(), strict=True):
            keys = agent_keys(head, group, on_paper.caption) | problem_key(head, column, on_paper.caption)
            if ident == "rocksample-extended":  # its EFE is a rule, on rocks of its own
                keys |= {"problem": f"{keys['problem']},layout=appendix"}
                keys |= {"agent": "heuristic"} if keys["agent"] == "efe" else {}
            if ident == "agents":
                keys = {"agent": keys["agent"]}
            assert keys.items() <= one.row.items(), label


@pytest.mark.parametrize("ident", published().tables)
def test_protocol_is_what_the_caption_says(source: Source, ident: str) -> None:
    held, on_paper = both(ident, source)
    printed_numbers = numbers(on_paper.caption) + numbers(" ".join(label[0] for label in held.labels))
    for protocol in held.protocol:
        counts = {key: value for key, value in protocol.items() if key not in ("problem", "cap")}
        if "per_seed" in counts:
            assert counts.pop("episodes") == float(counts["per_seed"]) * float(counts["seeds"])
        assert not [key for key, value in counts.items() if value not in printed_numbers]


@pytest.mark.parametrize("ident", published().quotes)
def test_quoted_numbers_stand_near_the_words_that_locate_them(source: Source, ident: str) -> None:
    quote = published().quotes[ident]
    passage = located(quote, source)
    start = passage.text.index(quote.near)
    window = passage.text[max(0, start - REACH) : start + len(quote.near) + REACH]
    for text, times in Counter(squeezed(one.text) for one in quote.cells).items():
        before = r"(?<![\d.,])" if text[0] in "+-±" else r"(?<![\d.,+-])" if text[0].isdigit() else ""
        number = before + re.escape(text) + r"(?!\d|[.,]\d)"
        assert len(re.findall(number, window)) >= times, text


def test_every_telling_number_of_the_text_is_held(source: Source) -> None:
    """Single digits aside, which are mostly names (H=2, w=1), each number of text and captions is in our data."""
    held = published()
    known: dict[str, set[float]] = {passage.text: set() for passage in source[1]}
    for quote in held.quotes.values():
        here = known[located(quote, source).text]
        for one in quote.cells:
            here.update(numbers(f"{one.text.replace('±', ' ')} {words(one.row)}"))
        here.update(number for row in held.parts[quote.part].protocol for number in numbers(words(row)))
    items: list[Table | Part] = [*held.tables.values(), *held.parts.values()]
    for item in items:
        rows = [*item.protocol, *(one.row for one in (item.cells if isinstance(item, Table) else ()))]
        for passage in source[1]:
            if isinstance(item, Table) and passage.place.endswith(f"caption of {item.place.partition(',')[0]}"):
                known[passage.text].update(number for row in rows for number in numbers(words(row)))
            if passage.label and passage.label == item.label:
                known[passage.text].update(number for row in rows for number in numbers(words(row)))
    missing = []
    for passage in source[1]:
        text = re.sub(r"(RS|RockSample)\[[\d,]+\]", "", passage.text)
        for found in NUMBER.finditer(text):
            number = float(found[0].rstrip("%").replace(",", ""))
            telling = abs(number) >= 10 or re.search(r"[.%+-]", found[0])
            if telling and number not in known[passage.text]:
                missing.append((passage.place, text[max(0, found.start() - 30) : found.end() + 10]))
    assert not missing


def test_what_is_said_twice_agrees_but_for_the_known() -> None:
    found = set()
    for quote in published().quotes.values():
        for one in filter(lambda one: one.repeats, quote.cells):
            first, *second = [only(reference) for reference in one.repeats.split(" - ")]
            difference = value(first) - sum(map(value, second))
            if one.relation in ("<", ">") and one.relation != first.relation:
                agrees = difference < value(one) if one.relation == "<" else difference > value(one)
            else:
                agrees = abs(difference - value(one)) <= max(one.rounding, first.rounding) + 1e-9
            same_setting = second or all(one.row[key] == first.row[key] for key in one.row.keys() & first.row.keys())
            if not (agrees and same_setting):
                found.add((quote.id, one.column, one.row.get("agent")))
    assert found == KNOWN_DISAGREEMENTS


def test_short_tables_repeat_the_full_ones() -> None:
    for short, full in (
        ("main", "tiger"),
        ("main", "diagnosis"),
        ("main", "bandit"),
        ("tileworld-6", "tileworld-6-full"),
    ):
        problem = published().tables[full].cells[0].row["problem"]
        for one in select(f"{short} problem={problem}"):
            assert one == cell(full, one.column, **one.row)


@pytest.mark.parametrize("ident", published().claims)
def test_claims_have_a_place_and_rest_on_printed_numbers(source: Source, ident: str) -> None:
    claim = published().claims[ident]
    assert claim.part in published().parts
    assert all(select(reference) for reference in claim.rests_on)
    located(claim, source)


def test_everything_is_told_in_own_words(source: Source) -> None:
    original = " ".join(re.findall(r"\w+", " ".join(passage.text for passage in source[1]).lower()))
    held = published()
    for kind in (held.tables, held.parts, held.quotes, held.claims):
        for ident, one in kind.items():
            told = re.findall(r"\w+", one.gist.lower())
            runs = [" ".join(told[start : start + 7]) for start in range(len(told) - 6)]
            assert not [run for run in runs if run in original], ident


def test_names_are_unique_and_those_of_the_package() -> None:
    held = published()
    assert not (set(held.tables) & set(held.quotes)) | (set(held.parts) & {*held.tables, *held.quotes})
    cells = [one for part in (held.tables, held.quotes) for item in part.values() for one in item.cells]
    assert {one.row["agent"] for one in cells if "agent" in one.row} <= {*list_agents(), "pomcp", "mcts"}
    assert {quote.part for quote in held.quotes.values()} <= set(held.parts)


def test_a_cell_knows_what_was_printed() -> None:
    reward = cell("tiger", "reward", agent="efe")
    assert (reward.value, reward.error, reward.rounding) == (5.23, 0.11, 0.005)
    assert cell("larger-effects", "d_bound", versus="planning").relation == ">"
    assert cell("abstract-states", "states").value == 65000
    assert cell("environments", "test_actions", problem="navigation:n=3").value == 4
    assert cell("rocksample", "steps", agent="greedy", problem="rocksample:n=5,k=3").value is None
    with pytest.raises(LookupError, match="2 cells"):
        cell("tileworld-8", "reward", agent="info-gain")
    with pytest.raises(LookupError, match="no published number"):
        select("tiger reward agent=pomcp")


def both(ident: str, source: Source) -> tuple[Table, Printed]:
    held = published().tables[ident]
    return held, next(one for one in source[0] if one.place == held.place)


def columns(held: Table, on_paper: Printed) -> tuple[list[int], list[int]]:
    """The places of the columns that name a row, and of those that hold its numbers."""
    values = [on_paper.heads.index(head) for head in held.columns.values()]
    return [place for place in range(len(on_paper.heads)) if place not in values], values


def by_row(held: Table) -> list[tuple[Cell, ...]]:
    width = len(held.columns)
    return [held.cells[start : start + width] for start in range(0, len(held.cells), width or 1)]


def agent_keys(head: dict[str, str], group: str, caption: str) -> dict[str, str | float]:
    """Agent, weight, horizon and the like, as far as row head or caption tell them or the agent's definition does."""
    name = head.get("Agent", head.get("Comparison", "").partition(" vs. ")[0]).partition(" (")[0]
    keys = dict(AGENT_KEYS.get(name, {}))
    everything = " ".join(head.values())
    if "Comparison" in head:
        versus = AGENT_KEYS[head["Comparison"].partition(" vs. ")[2]]["agent"]
        return {"agent": keys["agent"], "versus": versus, "metric": "success" if "Success" in group else "reward"}
    if found := re.search(r"w\^?\*?=(\d+)", everything if "weight" not in keys else head["Agent"]):
        keys["weight"] = float(found[1])
    found = re.search(r"H=(\d+)", everything) or re.search(r"H=(\d+)", caption)
    if found and "horizon" not in keys and name not in ("NavMyopic", "Greedy", "POMCP"):
        keys["horizon"] = float(found[1])
    if found := re.search(r"POMCP \((\d+)\)", everything):
        keys["simulations"] = float(found[1])
    if "Weight" in head:
        keys["agent"] = "efe" if keys["weight"] == 1 else "planning-ig"
    for letter, key in (("γ", "discount"), ("p_agent", "believed_accuracy")):
        if letter in head:
            keys[key] = float(head[letter])
    return keys


def problem_key(head: dict[str, str], column: str, caption: str) -> dict[str, str | float]:
    """The problem that a row belongs to: named by its head, else by the head of its column, else by the caption."""
    row = " ".join(head[name] for name in ("Environment", "Instance", "Grid", "N") if name in head)
    for text in (row, column, caption):
        for words, spec in PROBLEM_WORDS.items():
            if found := re.search(words, text):
                return {"problem": spec.format(*filter(None, found.groups()))}
    return {}


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"[+-]?\d+(?:\.\d+)?", text.replace(",", ""))]


def words(row: Row) -> str:
    """The values of a row or protocol as text; the two ends of a range apart."""
    return " ".join(str(value) for value in row.values()).replace("..", " ")


def located(held: Quote | Claim, source: Source) -> Passage:
    """The one passage with the words that locate `held`, which must be where it is said to be."""
    (passage,) = [one for one in source[1] if held.near in one.text]
    assert passage.text.count(held.near) == 1
    assert passage.place == held.place
    return passage


def only(reference: str) -> Cell:
    (found,) = select(reference)
    return found


def value(one: Cell) -> float:
    assert one.value is not None
    return one.value
