#!/usr/bin/env python3
"""Renew `requirements.lock`: every version that `run.py` may install, with the hashes of all its files.

python3 .ci/lock.py            keeps versions that still fit what the pyproject.toml files ask, adds and drops the rest
python3 .ci/lock.py --upgrade  takes the newest versions that fit

Needs `python3.11` to `python3.13` on the search path, each with pip: pip chooses versions for each, from the index that
it is set to. What other systems need besides is found from what packages ask there. Above each version stands who it
is for: rhoplan itself (`core`), one of its extras, the paper, the benchmark, or the build of all three.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pip._internal.models.index import PyPI
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.tags import Tag
from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename

HERE = Path(__file__).resolve().parent.parent
LOCK = HERE / "requirements.lock"
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = {
    "linux": ("posix", "Linux", ("x86_64", "aarch64")),
    "darwin": ("posix", "Darwin", ("x86_64", "arm64")),
    "win32": ("nt", "Windows", ("AMD64",)),
}
"""`os_name`, `platform_system` and machines of each `sys_platform`."""

HEAD = """\
# What `run.py` installs, and nothing else: versions that were tested together, each file by its hash.
# `python3 .ci/lock.py` writes this file.
"""

Groups = dict[str, list[str]]
Metadata = dict[str, dict[str, Any]]
"""What packages say of themselves, by canonical name."""

Where = tuple[str, str]
"""A Python and a `sys_platform`."""


def main(arguments: list[str]) -> int:
    groups = asked()
    pins = "" if "--upgrade" in arguments else "\n".join(pinned(LOCK.read_text(encoding="utf-8")))
    needed: dict[tuple[str, str], set[Where]] = defaultdict(set)
    users: dict[str, set[str]] = defaultdict(set)
    for python in PYTHONS:
        everything = sorted({one for some in groups.values() for one in some if Requirement(one).name != "rhoplan"})
        found = resolved(python, everything, pins)
        for system in SYSTEMS:
            for group in groups:
                for name in reached(group, groups, found, python, system, pins):
                    needed[name, found[name]["version"]].add((python, system))
                    users[name].add(group)
    names = sorted(needed)
    index = index_address()
    with ThreadPoolExecutor(8) as pool:
        pages = dict(pool.map(lambda name: (name, page(index, name)), {name for name, _ in names}))
    blocks = [HEAD]
    for name, version in names:
        where = needed[name, version]
        hashes = sorted(set(hashes_of(pages[name], version, {python for python, _ in where})))
        if not hashes:
            raise SystemExit(f"the index must have files of {name} {version}; it has none")
        line = f"{name}=={version}{marker(where)} \\"
        blocks.append("\n".join([f"# for {', '.join(sorted(users[name]))}", line, " \\\n".join(hashes)]) + "\n")
    LOCK.write_text("".join(blocks), encoding="utf-8")
    print(f"{LOCK.name}: {len(names)} versions, {sum(block.count('--hash') for block in blocks)} files")
    return 0


def asked() -> Groups:
    """Requirements of each group, as the pyproject.toml files list them."""
    projects = {
        name: tomllib.loads((HERE / name / "pyproject.toml").read_text(encoding="utf-8"))
        for name in (".", "paper", "bench")
    }
    library = projects["."]["project"]
    build = {one for project in projects.values() for one in project["build-system"]["requires"]}
    return {
        "core": library["dependencies"],
        **library["optional-dependencies"],
        **{name: projects[name]["project"]["dependencies"] for name in ("paper", "bench")},
        "build": [*sorted(build), "editables"],  # hatchling asks for it when it is told that a build is editable
    }


def pinned(text: str) -> list[str]:
    """Versions of a lock, without hashes, as pip reads them."""
    return re.findall(r"^[A-Za-z0-9][^\\\n]*==[^\\\n]*", text, re.MULTILINE)


def resolved(python: str, wanted: Iterable[str], pins: str, *more: str) -> Metadata:
    """What pip would install for `wanted`; it installs nothing."""
    program = shutil.which(f"python{python}")
    if program is None:
        raise SystemExit(f"the lock is made with Python {', '.join(PYTHONS)}; python{python} is not on the search path")
    with tempfile.TemporaryDirectory() as folder:
        told, constraints = Path(folder, "report.json"), Path(folder, "constraints.txt")
        constraints.write_text(pins, encoding="utf-8")
        command = [program, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", str(told)]
        subprocess.run([*command, "-c", str(constraints), *more, *wanted], check=True)
        installed = json.loads(told.read_text(encoding="utf-8"))["install"]
    return {canonicalize_name(one["metadata"]["name"]): one["metadata"] for one in installed}


def reached(group: str, groups: Groups, found: Metadata, python: str, system: str, pins: str) -> set[str]:
    """Names of what a group needs on a system, and what that needs; what is not in `found` yet is added to it."""
    names: set[str] = set()
    for environment in environments(python, system):
        waiting, seen = [(one, "") for one in groups[group]], set[tuple[str, str]]()
        while waiting:
            text, extra = waiting.pop()
            wanted = Requirement(text)
            if wanted.marker and not wanted.marker.evaluate({**environment, "extra": extra}):
                continue
            name = canonicalize_name(wanted.name)
            if name == "rhoplan":
                waiting += [(one, "") for part in ("core", *wanted.extras) for one in groups[part]]
                continue
            if name not in found:
                found |= resolved(python, [f"{wanted.name}{wanted.specifier}"], pins, "--no-deps")
            names.add(name)
            for asked_for in {(name, extra) for extra in ("", *wanted.extras)} - seen:
                seen.add(asked_for)
                waiting += [(one, asked_for[1]) for one in found[name].get("requires_dist", [])]
    return names


def environments(python: str, system: str) -> Iterator[dict[str, str]]:
    """What markers of requirements are judged by, on each machine of a system."""
    os_name, name, machines = SYSTEMS[system]
    for machine in machines:
        yield {
            "implementation_name": "cpython", "implementation_version": f"{python}.0", "os_name": os_name,
            "platform_machine": machine, "platform_python_implementation": "CPython", "platform_release": "",
            "platform_system": name, "platform_version": "", "python_full_version": f"{python}.0",
            "python_version": python, "sys_platform": system,
        }  # fmt: skip


def marker(where: set[Where]) -> str:
    """Where a version is installed, as pip reads it; nothing where that is everywhere."""
    pythons = [python for python in PYTHONS if python in {python for python, _ in where}]
    systems = [system for system in SYSTEMS if system in {system for _, system in where}]
    parts = []
    if pythons != list(PYTHONS):
        parts.append(" or ".join(f'python_version == "{one}"' for one in pythons))
        if pythons[-1] == PYTHONS[-1]:
            parts[-1] = f'python_version >= "{pythons[0]}"'
        elif pythons[0] == PYTHONS[0]:
            parts[-1] = f'python_version < "{PYTHONS[len(pythons)]}"'
    if systems != list(SYSTEMS):
        parts.append(" or ".join(f'sys_platform == "{one}"' for one in systems))
    joined = " and ".join(f"({part})" if " or " in part and len(parts) > 1 else part for part in parts)
    return f" ; {joined}" if joined else ""


def index_address() -> str:
    """The index that pip is set to."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or PyPI.simple_url


def page(index: str, name: str) -> str:
    """The index's page about a package."""
    request = urllib.request.Request(f"{index.rstrip('/')}/{name}/", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=180) as reply:
        return str(reply.read().decode("utf-8"))


def hashes_of(text: str, version: str, pythons: set[str]) -> Iterator[str]:
    """Lines of a lock for a version's source and for its wheels that fit one of `pythons`."""
    for address in re.findall(r'href="([^"]+)"', text):
        path, _, digest = html.unescape(address).partition("#")
        file = path.rpartition("/")[2]
        if fits(file, version, pythons) and re.fullmatch(r"sha256=[0-9a-f]{64}", digest):
            yield f"    --hash={digest.replace('=', ':')}"


def fits(file: str, version: str, pythons: set[str]) -> bool:
    """Whether a file is the source of `version` or a wheel of it for one of `pythons`."""
    if file.endswith(".tar.gz"):
        return file.removesuffix(".tar.gz").rpartition("-")[2] == version
    if not file.endswith(".whl") or file.split("-")[1] != version:
        return False
    tags: Iterable[Tag] = parse_wheel_filename(file)[3]
    return any(_runs(tag, python) for tag in tags for python in pythons)


def _runs(tag: Tag, python: str) -> bool:
    minor = int(python.partition(".")[2])
    if tag.abi == "none" and tag.interpreter.startswith("py3"):
        return int(tag.interpreter[3:] or 0) <= minor
    if tag.abi == "abi3" and tag.interpreter.startswith("cp3"):
        return int(tag.interpreter[3:]) <= minor
    return tag.interpreter == f"cp3{minor}" and tag.abi in (f"cp3{minor}", "none")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
