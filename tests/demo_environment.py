"""The environment that `make demo` leaves, made from the packages of the one that runs the tests.

It holds the distributions that ethogram needs with the extras named in the Makefile, and no others: what only
the development tools bring cannot be imported in it, as for somebody who follows the README.
"""

from __future__ import annotations

import re
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ethogram
from markdown_blocks import ROOT

PROGRAM = """#!{python}
import sys

from {module} import {function}

sys.exit({function}())
"""


def demo_extras(makefile: Path = ROOT / "Makefile") -> list[str]:
    """The extras that `make demo` installs."""
    (names,) = re.findall(r"^DEMO_EXTRAS := *(\S+)$", makefile.read_text(encoding="utf-8"), re.MULTILINE)
    return names.split(",")


def make_environment(folder: Path, extras: list[str]) -> Path:
    """Make a virtual environment with ethogram and these extras; return its folder of programs."""
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    for package in required_distributions("ethogram", extras):
        if canonicalize_name(package.name) != "ethogram":
            link_files(package, packages)
    link_files(distribution("ethogram"), packages, only=".dist-info/")
    (packages / "ethogram.pth").write_text(f"{Path(ethogram.__file__).parents[1]}\n")
    for entry in distribution("ethogram").entry_points.select(group="console_scripts"):
        program = folder / "bin" / entry.name
        program.write_text(
            PROGRAM.format(python=folder / "bin" / "python", module=entry.module, function=entry.attr)
        )
        program.chmod(0o755)
    return folder / "bin"


def required_distributions(name: str, extras: list[str]) -> list[Distribution]:
    """A distribution, and all that it needs with these extras, each once and as constraints.txt pins it."""
    pinned = dict(pins())
    needed: dict[str, Distribution] = {}
    asked: set[tuple[str, str]] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        asking = waiting.pop()
        if asking in asked:
            continue
        asked.add(asking)
        key, extra = canonicalize_name(asking[0]), asking[1]
        found = needed.setdefault(key, installed(key))
        assert found.version == pinned.get(key, found.version), f"{key} {found.version}: run `make env`"
        for requirement in map(Requirement, found.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(requirement.name, more) for more in ("", *requirement.extras)]
    return list(needed.values())


def installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        raise AssertionError(f"{name} is needed and not installed: run `make env`") from None


def pins() -> Iterator[tuple[str, str]]:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if "==" in line and not line.startswith("#"):
            requirement = Requirement(line)
            (version,) = requirement.specifier
            yield canonicalize_name(requirement.name), version.version


def link_files(package: Distribution, to: Path, only: str = "") -> None:
    """Link what a distribution installed: packages whole, of a shared namespace its own files alone."""
    for file in package.files or ():
        if file.parts[0] == ".." or only not in str(file):
            continue
        part = to
        for name in file.parts:
            part /= name
            source = Path(str(package.locate_file(part.relative_to(to))))
            if part.is_symlink():
                break
            if source.is_file() or (source / "__init__.py").is_file() or name.endswith(".dist-info"):
                part.symlink_to(source.resolve())
                break
            part.mkdir(exist_ok=True)
