"""`ethogram trust`: which settings files of project folders count whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from pathlib import Path

    from ..config import Loaded


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("trust")(trust)


def trust(
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="A folder or its settings file.")] = ".",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: you have reviewed the files.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the trusted files.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Stop trusting the files of PATH.")] = False,
    as_json: AsJson = False,
) -> None:
    """Trust the settings of a folder as they are now, after showing what they set."""
    from ..config.trust import add_trust, digest_of, key_of
    from ..errors import BadUsage

    if [listed, revoke, yes].count(True) > 1:
        raise BadUsage("--list, --revoke and --yes exclude each other")
    if listed:
        tell_list(as_json=as_json)
        return
    if revoke:
        tell_revoked(path, as_json=as_json)
        return
    if as_json and not yes:
        raise BadUsage("--json cannot ask: review the files, and pass --yes")
    folder = folder_of(path)
    files = folder_files(folder)
    # Digests first: what changes while somebody reads is not trusted.
    digests = {key_of(one.path): digest_of(one.path) for one in files}
    if not as_json:
        for line in review_lines(files):
            write_line(printable(line))
    if not yes:
        ask()
    add_trust(digests)
    for name in digests:
        tell_entry(name, as_json=as_json)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A file to be trusted, what it sets (name and value), and the other files it uses."""

    path: Path
    sets: tuple[tuple[str, str], ...]
    uses: tuple[Path, ...] = ()


def folder_of(given: str) -> str:
    """The folder of a path, or of a file in it; '' is the working directory."""
    from pathlib import Path

    from ..errors import BadUsage

    path = Path(given)
    if not path.exists():
        raise BadUsage(f"{given}: no such file or folder")
    folder = path if path.is_dir() else path.parent
    return "" if folder == Path() else str(folder)


def folder_files(folder: str) -> list[Reviewed]:
    """The settings, learned parameters and mutes of a folder, checked; BadUsage where there are none."""
    import os
    from pathlib import Path

    from ..config.loading import review_settings
    from ..config.mutes import read_mutes
    from ..config.trust import is_inside, used_files
    from ..errors import BadUsage
    from ..report.words import mute_text

    loaded = review_settings(folder)
    found: list[Reviewed] = []
    if loaded.path is not None:
        found.append(
            Reviewed(Path(loaded.path), values_of(loaded, loaded.path), tuple(used_files(loaded.path)))
        )
    beside = [one for one in (loaded.learned, loaded.mutes_path) if os.path.lexists(one)]
    for path in (one for one in beside if is_inside(one, Path(folder))):
        if path == loaded.learned:
            found.append(Reviewed(path, values_of(loaded, str(path))))
        else:
            entries = read_mutes(path)
            found.append(Reviewed(path, tuple((f"mute {mute_text(one)}", one.reason) for one in entries)))
    if not found:
        raise BadUsage(f"{folder or '.'}: there are no settings to trust (ethogram.yaml or .ethogram.yaml)")
    return found


def values_of(loaded: Loaded, name: str) -> tuple[tuple[str, str], ...]:
    """What one file sets, value by value."""
    from ..config.layers import leaves_of
    from .config import as_text

    return tuple(
        (".".join(map(str, place)), as_text(value))
        for layer in loaded.layers
        if layer.name == name
        for key, content in layer.values.items()
        for place, value in leaves_of((key,), content)
    )


def review_lines(files: list[Reviewed]) -> Iterator[str]:
    """What there is to review."""
    for one in files:
        yield f"{one.path} sets:" if one.sets else f"{one.path} sets nothing"
        yield from (f"  {name}: {value}" for name, value in one.sets)
        if one.uses:
            yield "and uses these files, which you should read too:"
            yield from (f"  {path}" for path in one.uses)


def ask() -> None:
    """Ask the person at the terminal. BadUsage where there is none, or where they do not say yes."""
    from ..errors import BadUsage
    from .output import flush, write_text

    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadUsage("nobody to ask, this is no terminal: review the files, and pass --yes")
    write_text("Trust these files as they are? [y/N] ")
    flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadUsage("not trusted")


def tell_entry(name: str, *, as_json: bool) -> None:
    """One file of the record and whether it is still as it was reviewed."""
    from ..config.trust import read_record, trust_of
    from ..patterns.listing import TrustRow

    record, _ = read_record()
    trust = trust_of(name, record.get)
    if as_json:
        digest = record[name].digest
        write_json(TrustRow(path=name, status=trust.status, at=trust.at, digest=digest))
    else:
        write_line(printable(f"{trust.status}  {trust.at}  {name}"))


def tell_list(*, as_json: bool) -> None:
    """Every file of the record."""
    from ..config.trust import read_record
    from .errors import warn

    record, warning = read_record()
    if warning:
        warn(warning, as_json=as_json)
    for name in sorted(record):
        tell_entry(name, as_json=as_json)
    if not record and not as_json:
        write_line("nothing is trusted")


def tell_revoked(given: str, *, as_json: bool) -> None:
    """Take a file, or all files of a folder, out of the record."""
    from pathlib import Path

    from ..config.trust import key_of, read_record, revoke_trust
    from ..errors import BadUsage
    from ..patterns.listing import TrustRow

    folder = key_of(Path(given, "x")).removesuffix("x")
    names = [name for name in sorted(read_record()[0]) if name == key_of(given) or name.startswith(folder)]
    if not names:
        raise BadUsage(f"{given}: nothing there is trusted; see 'ethogram trust --list'")
    revoke_trust(names)
    for name in names:
        if as_json:
            write_json(TrustRow(path=name, status="revoked", at=None, digest=None))
        else:
            write_line(printable(f"revoked  {name}"))
