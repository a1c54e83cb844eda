"""Image: the modules a hook needs, compiled into one file, so that a start takes a twentieth of a second.

    image = {"stamp": what must be unchanged, "modules": {name: code}, "plan": what the settings ask for}

It is made for one folder (whose settings it holds) and one Python, and made anew when one of the files it was
made of has changed.
"""

from __future__ import annotations

import ast
import marshal
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ethogram

from .place import image_path, make_folder, stamp_of
from .regexes import compiled

ROOT = Path(ethogram.__file__).parent
LIGHT = {"dataclasses": "light_dataclasses.py", "typing": "light_typing.py"}
"""Modules of the standard library that stand-ins take the place of, inside the image only."""
FAILED = ".failed"
MOST_IMAGES = 40
"""Folders whose images are kept."""
HEAD = "ethogram.hook.answer"


def closure(names: Iterable[str]) -> dict[str, Path]:
    """These modules of ours and all that they import when they are loaded, each with its file."""
    found: dict[str, Path] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found or name == "ethogram":
            continue
        path = _file(name)
        if path is None:
            continue
        found[name] = path
        waiting.append(name.rpartition(".")[0])
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting.extend(_imports(ast.parse(path.read_text(encoding="utf-8")).body, package))
    return found


def _file(name: str) -> Path | None:
    base = ROOT.joinpath(*name.split(".")[1:])
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if name.startswith("ethogram.") and path.is_file():
            return path
    return None


def _imports(body: Iterable[ast.stmt], package: str) -> Iterator[str]:
    """Our own modules that statements import as they run; those for type checkers alone are left out."""
    for one in body:
        if isinstance(one, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - one.level + 1] if one.level else []
            base = ".".join([*above, *([one.module] if one.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in one.names)
        elif isinstance(one, ast.Import):
            yield from (alias.name for alias in one.names)


def make_image(signals: Iterable[str], plan: str) -> dict[str, Any]:
    """An image with the modules of these signals, and the source of a module that says what to look for."""
    files = closure([HEAD, *signals])
    modules = {name: (_folder(path), _code(name, path)) for name, path in files.items()}
    here = Path(__file__).parent
    modules |= {name: ("", _code(name, here / file)) for name, file in LIGHT.items()}
    modules["ethogram.hook.plan"] = ("", compile(plan, "<ethogram plan>", "exec", optimize=1))
    names = sorted(str(path) for path in files.values())
    return {"modules": modules, "regexes": compiled(modules), "files": names}


def _folder(path: Path) -> str:
    """Where the modules of a package are that the image does not hold; '' for a module."""
    return str(path.parent) if path.name == "__init__.py" else ""


def _code(name: str, path: Path) -> Any:
    return compile(path.read_text(encoding="utf-8"), f"<{name}>", "exec", optimize=1)


def write_image(folder: str, image: dict[str, Any], watched: Iterable[str]) -> Path:
    """Write the image for a folder, whole or not at all; `watched` are the files it depends on."""
    path = Path(image_path(folder))
    _write(
        path,
        {
            "stamp": stamp_of([*image["files"], *watched]),
            **{name: image[name] for name in ("modules", "regexes")},
        },
    )
    path.with_name(path.name + FAILED).unlink(missing_ok=True)
    for old in sorted(path.parent.glob("*.bin"), key=lambda one: one.stat().st_mtime)[:-MOST_IMAGES]:
        old.unlink(missing_ok=True)
    return path


def write_failure(folder: str, watched: Iterable[str]) -> None:
    """Note that no image can be written as long as these files are as they are."""
    path = Path(image_path(folder))
    _write(path.with_name(path.name + FAILED), {"stamp": stamp_of(list(watched))})


def _write(path: Path, told: dict[str, Any]) -> None:
    make_folder(str(path.parent))
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(marshal.dumps(told))
    Path(name).replace(path)
