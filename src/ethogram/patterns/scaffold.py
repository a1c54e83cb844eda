"""New patterns: a complete file to start from, for every shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import uuid4

from ..config.trust import SUFFIXES
from ..data import DATA
from ..errors import BadUsage, Fault, did_you_mean
from ..language.shape_parser import COMBINATIONS, KINDS
from ..language.yaml_source import Scalar
from . import library
from .pattern_file import PATTERN_NAME

TEMPLATES = DATA / "templates"
PARTS = ("first", "second")
_HOLE = re.compile(r"\b(NAME|TITLE|ID)(?=_first|_second|\b)")


def write_new(name: str, shape: str, folder: Path, new_id: Callable[[], str] | None = None) -> list[Path]:
    """Write a new pattern and its parts, and return the files. BadUsage where one exists already."""
    texts = new_pattern(name, shape, new_id or (lambda: str(uuid4())))
    _check_free(texts, folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for item, text in texts.items():
        paths.append(folder / f"{item}.yaml")
        try:
            # "x", so that a file made in the meantime is not lost.
            with open(paths[-1], "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise
        except OSError as error:
            paths[-1].unlink(missing_ok=True)  # rather none than half of one
            raise BadUsage(f"{paths[-1]} cannot be written: {error.strerror or error}") from None
    return paths


def new_pattern(name: str, shape: str, new_id: Callable[[], str]) -> dict[str, str]:
    """Texts of the pattern and, for a combination, of two parts for it to combine; by pattern name."""
    if shape not in KINDS:
        near = did_you_mean(shape, KINDS) or f"; one of {', '.join(KINDS)}"
        raise BadUsage(f"unknown shape {shape!r}{near}")
    wanted = {name: shape}
    if shape in (*COMBINATIONS, "spread"):
        wanted |= {f"{name}_{part}": part for part in PARTS}
    for item in wanted:
        _check_name(item)
    return {name: _fill(template, name, new_id()) for name, template in wanted.items()}


def _fill(template: str, name: str, identity: str) -> str:
    values = {"NAME": name, "TITLE": name.replace("_", " ").strip().capitalize(), "ID": identity}
    text = (TEMPLATES / f"{template}.yaml").read_text("utf-8")
    return _HOLE.sub(lambda hole: values[hole[1]], text)


def _check_name(name: str) -> None:
    # `true` and `null` are plain words too, but not to YAML.
    if not PATTERN_NAME.fullmatch(name) or not isinstance(Scalar(name, 1, 1).value, str):
        raise BadUsage(f"invalid pattern name {name[:90]!r}: expected letters, digits and _")


def _check_free(texts: Mapping[str, str], folder: Path) -> None:
    shipped = {path.stem for path in library.SHIPPED.rglob("*") if path.suffix in SUFFIXES}
    faults = [
        Fault("", 0, 0, f"the library has a pattern {name!r} already; choose another name")
        for name in texts
        if name in shipped
    ]
    for name in texts:
        there = [folder / f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").exists()]
        faults += [Fault(str(path), 0, 0, "already exists: nothing was written") for path in there]
    if faults:
        raise BadUsage(faults)
