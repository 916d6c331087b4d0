"""What a model says of a test to whoever runs it: a note, a link and a picture, shown where the test is to be done.

Nothing is ever fetched: links are shown as links, and the only picture that is drawn is one that the file itself holds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rhoplan.io.links import is_link, is_picture
from rhoplan.model.pomdp import POMDP


@dataclass(frozen=True)
class Note:
    """note: text. link, picture: an https address or a path beside the file; a picture may be data. Empty: none."""

    note: str = ""
    link: str = ""
    picture: str = ""

    def as_dict(self) -> dict[str, str]:
        """What there is of it."""
        return {name: text for name, text in asdict(self).items() if text}

    @property
    def lines(self) -> list[str]:
        """What a terminal shows of it."""
        shown = "in the model file" if self.picture.startswith("data:") else self.picture
        parts = {"note": self.note, "link": self.link, "picture": shown}
        return [f"{name}: {text}" for name, text in parts.items() if text]


def notes_of(problem: POMDP) -> dict[str, Note]:
    """The notes of the tests that have some, by test."""
    kept = problem.details.get("test_info") or {}
    found = {test: note_in(info) for test, info in kept.items()}
    return {test: note for test, note in found.items() if note != Note()}


def note_in(info: object) -> Note:
    """The note in what a model says of a test; links that must not be shown as such are left out."""
    given = info if isinstance(info, dict) else {"note": info}
    text = " ".join(str(given[name]) for name in ("about", "note") if given.get(name))
    link, picture = (str(given.get(name) or "") for name in ("link", "picture"))
    return Note(text, link if is_link(link) else "", picture if is_picture(picture) else "")
