"""The order in which things can happen that wait for one another, found in time that grows with what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def possible(waits: Mapping[str, Sequence[str]], brings: Mapping[str, Sequence[str]] | None = None) -> set[str]:
    """All that can happen: the names in `waits` whose others all can, and what they bring along.

    waits: for each name, others that must have happened before. brings: what happens whenever a name does.
    """
    left = {name: len(set(others)) for name, others in waits.items()}
    freed: dict[str, list[str]] = {}
    for name, others in waits.items():
        for other in set(others):
            freed.setdefault(other, []).append(name)
    ready = [name for name, count in left.items() if not count]
    found = set[str]()
    while ready:
        happens = ready.pop()
        for one in (happens, *(brings or {}).get(happens, ())):
            if one in found:
                continue
            found.add(one)
            for name in freed.get(one, ()):
                left[name] -= 1
                if not left[name]:
                    ready.append(name)
    return found


def waiting_in_a_circle(waits: Mapping[str, Sequence[str]]) -> list[str]:
    """Names that wait for one another in a circle, the first in the order of `waits` first; empty where none do."""
    inside = {name: [other for other in others if other in waits] for name, others in waits.items()}
    stuck = inside.keys() - possible(inside)
    if not stuck:
        return []
    name, seen = next(name for name in inside if name in stuck), dict[str, int]()
    while name not in seen:  # whoever is stuck waits for one that is
        seen[name] = len(seen)
        name = next(other for other in inside[name] if other in stuck)
    circle = list(seen)[seen[name] :]
    members = set(circle)
    place = circle.index(next(name for name in inside if name in members))
    return circle[place:] + circle[:place]
