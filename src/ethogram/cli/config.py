"""`ethogram config`: settings and where each comes from, JSON Schemas, and trusted files."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ..config import CONFIG_FILE, CONFIG_VARIABLE, Loaded
from ..config import show as settings_of
from ..config.layers import leaves_of
from ..config.loading import find_file, review_settings
from ..config.mutes import read_mutes
from ..config.trust import (
    add_trust,
    digest_of,
    is_inside,
    key_of,
    read_record,
    revoke_trust,
    trust_of,
    used_files,
    user_file,
)
from ..errors import BadUsage, did_you_mean
from ..patterns.listing import ConfigPath, SettingRow, TrustRow
from ..report.wording import aligned, mute_text, printable
from ..schemas import schema as schema_of
from ..schemas import schema_names, schema_summary
from .errors import warn
from .options import AsJson, Config, arg, load_config, opt
from .output import emit, flush, write_json, write_line, write_lines, write_text


def show(as_json: AsJson = False, config: Config = "") -> None:
    """List every setting with its value and origin."""
    from ..patterns.settings_check import check_patterns

    loaded = load_config(config, as_json=as_json)
    check_patterns(loaded)
    rows = settings_of(loaded)
    lines = [*aligned([(printable(key), as_text(value), printable(at)) for key, value, at in rows])]
    if loaded.refused:
        lines.append("\nRefused:")
    for refused in loaded.refused:
        value = as_text(refused.value)
        lines.append(printable(f"  {refused.name}: {value}, from {refused.origin}: {refused.why}"))
    emit([*(SettingRow(*row) for row in rows), *loaded.refused], lines, as_json=as_json)


def path(as_json: AsJson = False, config: Config = "") -> None:
    """Show which settings file is read."""
    file = find_file(config or None, os.environ)
    full = None if file is None else os.path.abspath(file)  # noqa: PTH100 (links are left as they are)
    if as_json:
        is_named = bool(config or os.environ.get(CONFIG_VARIABLE))
        status = None if file is None or is_named else trust_of(file, read_record()[0].get)
        user = user_file()
        write_json(
            ConfigPath(
                path=full,
                trusted=None if file is None else status is None or status.status == "trusted",
                user=str(user) if user is not None and user.exists() else None,
            )
        )
    elif full is None:
        write_line(f"no settings file: no {CONFIG_FILE} in this folder, and {CONFIG_VARIABLE} is not set")
    else:
        write_line(printable(full))


def schema(
    name: Annotated[str, arg("Name a record (default: config).", "[NAME]")] = "config",
    listed: Annotated[bool, opt("List the schemas.", "--list")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the JSON Schema of a record, or list the schemas."""
    names = schema_names()
    if listed:
        write_lines(aligned([(known, schema_summary(known)) for known in names]))
        return
    if name not in names:
        hint = did_you_mean(name, names) or f"; there are {', '.join(names)}"
        raise BadUsage(f"unknown schema {name!r}{hint}")
    write_line(json.dumps(schema_of(name), indent=None if as_json else 2))


def as_text(value: Any) -> str:
    """A value as the settings file would give it.

    >>> as_text(None), as_text("30m"), as_text([]), as_text({})
    ('null', '30m', '[]', '{}')
    """
    if isinstance(value, str):
        return printable(value)
    return json.dumps(value, ensure_ascii=True)


# --- trust ----------------------------------------------------------------------------------


def trust(
    path: Annotated[str, arg("Name a folder or its settings file (default: .).", "[PATH]")] = ".",
    yes: Annotated[bool, opt("Do not ask: you have reviewed the files.", "--yes")] = False,
    listed: Annotated[bool, opt("List the trusted files.", "--list")] = False,
    revoke: Annotated[bool, opt("Stop trusting the files of PATH.", "--revoke")] = False,
    as_json: AsJson = False,
) -> None:
    """Trust the settings of a folder as they are, after a review."""
    if [listed, revoke, yes].count(True) > 1:
        raise BadUsage("--list, --revoke and --yes exclude each other")
    if listed:
        known, warning = read_record()
        if warning:
            warn(warning, as_json=as_json)
        for name in sorted(known):
            show_trust(name, as_json=as_json)
        if not known and not as_json:
            write_line("nothing is trusted")
        return
    if revoke:
        folder = key_of(Path(path, "x")).removesuffix("x")
        names = [name for name in sorted(read_record()[0]) if name == key_of(path) or name.startswith(folder)]
        if not names:
            raise BadUsage(f"{path}: nothing there is trusted; see 'ethogram config trust --list'")
        revoke_trust(names)
        for name in names:
            record = TrustRow(path=name, status="revoked", at=None, digest=None)
            emit([record], [printable(f"revoked  {name}")], as_json=as_json)
        return
    if as_json and not yes:
        raise BadUsage("--json cannot ask: review the files, and pass --yes")
    if not (place := Path(path)).exists():
        raise BadUsage(f"{path}: no such file or folder")
    place = place if place.is_dir() else place.parent
    files = folder_files("" if place == Path() else str(place))
    # Digests first: what changes during the review is not trusted.
    digests = {key_of(file.path): digest_of(file.path) for file in files}
    for file in () if as_json else files:
        lines = [f"{file.path} sets:" if file.sets else f"{file.path} sets nothing"]
        lines += [f"  {name}: {value}" for name, value in file.sets]
        if file.uses:
            lines.append("and uses these files, which you should read too:")
            lines += [f"  {used}" for used in file.uses]
        write_lines(map(printable, lines))
    if not yes:
        ask()
    add_trust(digests)
    for name in digests:
        show_trust(name, as_json=as_json)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A file to be trusted, what it sets (name and value), and the other files it uses."""

    path: Path
    sets: tuple[tuple[str, str], ...]
    uses: tuple[Path, ...] = ()


def folder_files(folder: str) -> list[Reviewed]:
    """The settings, learned parameters and mutes of a folder, checked; BadUsage where there are none."""
    loaded = review_settings(folder)
    files: list[Reviewed] = []
    if loaded.path is not None:
        used = tuple(used_files(loaded.path))
        files.append(Reviewed(Path(loaded.path), values_of(loaded, loaded.path), used))
    beside = [file for file in (loaded.learned, loaded.mutes_path) if os.path.lexists(file)]
    for file in (file for file in beside if is_inside(file, Path(folder))):
        if file == loaded.learned:
            files.append(Reviewed(file, values_of(loaded, str(file))))
        else:
            sets = tuple((f"mute {mute_text(entry)}", entry.reason) for entry in read_mutes(file))
            files.append(Reviewed(file, sets))
    if not files:
        raise BadUsage(f"{folder or '.'}: there are no settings to trust (ethogram.yaml or .ethogram.yaml)")
    return files


def values_of(loaded: Loaded, name: str) -> tuple[tuple[str, str], ...]:
    """What one file sets, value by value."""
    return tuple(
        (".".join(map(str, place)), as_text(value))
        for layer in loaded.layers
        if layer.name == name
        for key, content in layer.values.items()
        for place, value in leaves_of((key,), content)
    )


def ask() -> None:
    """Ask at the terminal. BadUsage where there is none, or where the answer is not yes."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadUsage("cannot ask, not a terminal: review the files, and pass --yes")
    write_text("Trust these files as they are? [y/N] ")
    flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadUsage("not trusted")


def show_trust(name: str, *, as_json: bool) -> None:
    """Show one trusted file, and whether it is still as it was reviewed."""
    known, _ = read_record()
    status = trust_of(name, known.get)
    digest = known[name].digest
    record = TrustRow(path=name, status=status.status, at=status.at, digest=digest)
    emit([record], [printable(f"{status.status}  {status.at}  {name}")], as_json=as_json)
