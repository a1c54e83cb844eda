"""`ethogram patterns install` and `remove`: packs of patterns that others wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..errors import BadUsage
from ..patterns import packs
from ..patterns.catalogue import load_vocabulary
from ..patterns.listing import PackRemoved
from ..report.wording import plural, printable
from .options import AsJson, Config, arg, load_config, opt
from .output import emit

Folder = Annotated[Path, opt("Keep packs in this folder.")]
FOLDER = Path("packs")


def install(
    source: Annotated[Path, arg("Name a folder, .zip, .tar or .tar.gz.", "PATH")],
    folder: Folder = FOLDER,
    name: Annotated[str, opt("Name the pack (default: as its file).", metavar="NAME")] = "",
    replace: Annotated[bool, opt("Replace another version of the pack.", "--replace")] = False,
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Install a pack of patterns, after checking it whole.

    A pack holds pattern files and their lock, and no code. Nothing is downloaded.
    """
    if not source.exists():
        raise BadUsage(f"{str(source)!r:.200}: no such file or folder; nothing is downloaded")
    loaded = load_config(config, as_json=as_json)
    done = packs.install(source, folder, load_vocabulary(loaded.settings.signals), name=name, replace=replace)
    lines = [f"{change.pattern}: {change.change}" for change in done.changes]
    lines.append(f"pack {done.name}: {plural(done.patterns, 'pattern')} in {done.path}")
    if not any(folder.resolve() == Path(item).resolve() for item in loaded.settings.patterns):
        lines.append(f"To use it: --patterns {done.path}, or patterns: [{folder}] in ethogram.yaml")
    emit([done], map(printable, lines), as_json=as_json)


def remove(
    name: Annotated[str, arg("Name the pack.", "NAME")], folder: Folder = FOLDER, as_json: AsJson = False
) -> None:
    """Remove an installed pack; files that it did not bring stay."""
    if "/" in name or name.startswith("."):
        raise BadUsage(f"invalid name of a pack {name!r:.80}: expected the name of a folder in {folder}")
    target = folder / name
    count = packs.remove(target)
    line = f"removed pack {name}: {plural(count, 'pattern')}"
    emit([PackRemoved(name=name, path=str(target), patterns=count)], [printable(line)], as_json=as_json)
