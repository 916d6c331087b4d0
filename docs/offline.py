"""What lets the documentation be read without a network: formulas as MathML, and a check of what was built.

A Sphinx extension. Browsers draw MathML by themselves, so no script has to be fetched to typeset formulas. When the
site is built, every page and style sheet is searched for what a browser would fetch from another host on its own (links
that a reader may follow do not count); finding any is a warning, which fails the build.
Not covered: what a script fetches while it runs. Those of the theme and of Sphinx fetch nothing from elsewhere.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

FETCHED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "dns-prefetch", "manifest"}
"""Kinds of <link> that make a browser connect by itself; `next`, `search` and `canonical` do not."""

FETCHED_ATTRIBUTES = {"src", "srcset", "data", "poster", "background", "style"}

REMOTE = re.compile(r"(?:https?:)?//[\w.-]+\.\w+", re.IGNORECASE)

FETCHED_BY_STYLE = re.compile(r"(?:@import|url\()\s*(?:url\()?[\"']?\s*((?:https?:)?//[^\"')\s;]+)", re.IGNORECASE)


class _Page(HTMLParser):
    """Collects the addresses that a page makes a browser fetch from other hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.style = tag == "style"
        values = {name: value or "" for name, value in attrs}
        fetched = [value for name, value in values.items() if name in FETCHED_ATTRIBUTES]
        if tag == "link" and FETCHED_LINKS & set(values.get("rel", "").lower().split()):
            fetched.append(values.get("href", ""))
        if tag in ("image", "use"):
            fetched += [values.get("href", ""), values.get("xlink:href", "")]
        self.found += [match.group() for value in fetched for match in REMOTE.finditer(value)]

    def handle_data(self, data: str) -> None:
        if self.style:
            self.found += FETCHED_BY_STYLE.findall(data)


def remote_requests(name: str, text: str) -> list[str]:
    """Addresses on other hosts that the file `name` (a page or a style sheet) makes a browser fetch."""
    if name.endswith(".css"):
        return FETCHED_BY_STYLE.findall(text)
    page = _Page()
    page.feed(text)
    return page.found


def check_site(app: Any, failure: Exception | None) -> None:
    """Warn, which is an error, of everything in the built site that cannot be read without a network."""
    if failure or app.builder.format != "html":
        return
    from sphinx.util.logging import getLogger

    folder = Path(app.outdir)
    for path in sorted((*folder.rglob("*.html"), *folder.rglob("*.css"))):
        for address in remote_requests(path.name, path.read_text(encoding="utf-8")):
            message = f"{path.relative_to(folder)} would fetch {address}: the site must need no network"
            getLogger(__name__).warning(message, type="offline")


def mathml(source: str, *, block: bool) -> str:
    """A LaTeX formula as MathML."""
    from latex2mathml.converter import convert

    return str(convert(source, display="block" if block else "inline"))


def _inline(writer: Any, node: Any) -> None:
    from docutils.nodes import SkipNode

    writer.body.append(f'<span class="math">{mathml(node.astext(), block=False)}</span>')
    raise SkipNode


def _block(writer: Any, node: Any) -> None:
    from docutils.nodes import SkipNode

    writer.body.append(f'<div class="math">{mathml(node.astext(), block=True)}</div>\n')
    raise SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("build-finished", check_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
