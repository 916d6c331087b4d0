"""XML as a tree that remembers lines, read by the standard parser with everything refused that can hurt.

No document type, so no entities that unfold; a limit on depth and on how many elements there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from rhoplan.errors import ModelFileError

MOST_ELEMENTS = 5_000_000

DEEPEST = 200


@dataclass
class Element:
    """An element with its attributes, its text and what stands inside, and the line where it begins."""

    tag: str
    line: int
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The elements called `tag` directly inside."""
        return [element for element in self.inside if element.tag == tag]

    def first(self, tag: str) -> Element | None:
        return next((element for element in self.inside if element.tag == tag), None)

    def only(self, *once: str, several: tuple[str, ...] = (), file: str) -> Element:
        """This element, if nothing else stands in it, and what should stand there once at most does."""
        seen: set[str] = set()
        for element in self.inside:
            if element.tag in seen:
                what = f"<{self.tag}> must have one <{element.tag}>; it has two"
            elif element.tag not in once and element.tag not in several:
                wanted = ", ".join(f"<{tag}>" for tag in (*once, *several))
                what = f"<{self.tag}> may have {wanted}; it has <{element.tag}>"
            else:
                seen |= {element.tag} & {*once}
                continue
            raise ModelFileError(what, file=file, line=element.line, code="pomdpx-syntax")
        return self


def parse_xml(text: str, *, file: str) -> Element:
    """The outermost element of `text`."""
    parser = expat.ParserCreate()
    top = Element("", 0)
    open_elements, count = [top], 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_ELEMENTS or len(open_elements) > DEEPEST:
            raise ModelFileError(
                f"an XML file may hold {MOST_ELEMENTS:,} elements, nested {DEEPEST} deep; this holds more",
                file=file,
                line=parser.CurrentLineNumber,
                code="nested-too-deep",
            )
        open_elements[-1].text += "".join(texts)
        texts.clear()
        element = Element(tag, parser.CurrentLineNumber, attributes)
        open_elements[-1].inside.append(element)
        open_elements.append(element)

    def write(data: str) -> None:
        texts.append(data)

    def end(tag: str) -> None:
        open_elements.pop().text += "".join(texts)
        texts.clear()

    def refuse(*_: object) -> None:
        raise ModelFileError(
            "the file must have no document type; take <!DOCTYPE ...> out",
            file=file,
            line=parser.CurrentLineNumber,
            code="not-xml",
        )

    texts: list[str] = []
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = begin, end, write
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise ModelFileError(f"this is not valid XML: {what}", file=file, line=error.lineno, code="not-xml") from None
    return top.inside[0]
