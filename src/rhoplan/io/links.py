"""Links and pictures that a model file may hold: shown to people, never fetched."""

from __future__ import annotations

import re

PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
"""A picture that stands in the file itself."""

SECURE = "https://"


def is_link(text: str) -> bool:
    """Whether `text` may be shown as a link: an https address, or a path relative to the file."""
    if not text or not text.isprintable() or any(character in text for character in " \\<>\"'"):
        return False
    return text.startswith(SECURE) or not re.match(r"/|[^/?#]*:", text)


def is_picture(text: str) -> bool:
    """Whether `text` is a picture: one that a link leads to, or one that it holds itself."""
    return is_link(text) or PICTURE.fullmatch(text) is not None
