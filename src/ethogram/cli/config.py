"""`ethogram config`: settings and where each comes from, JSON Schemas, and trusted files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ..report.wording import aligned, mute_text, printable
from .errors import warn
from .options import AsJson, Config, arg, load_config, opt
from .output import emit, flush, write_json, write_line, write_lines, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from ..config import Loaded


def show(as_json: AsJson = False, config: Config = "") -> None:
    """List every setting with its value and origin."""
    from ..config import show as settings_of
    from ..patterns.listing import SettingRow
    from ..patterns.settings_check import check_patterns

    loaded = load_config(config, as_json=as_json)
    check_patterns(loaded)
    rows = settings_of(loaded)
    if as_json:
        for key, value, origin in rows:
            write_json(SettingRow(key=key, value=value, origin=origin))
        for refused in loaded.refused:
            write_json(refused)
        return
    write_lines(aligned([(printable(key), as_text(value), printable(at)) for key, value, at in rows]))
    if loaded.refused:
        write_line("\nRefused:")
    for refused in loaded.refused:
        value = as_text(refused.value)
        write_line(printable(f"  {refused.name}: {value}, from {refused.origin}: {refused.why}"))


def path(as_json: AsJson = False, config: Config = "") -> None:
    """Show which settings file is read."""
    import os

    from ..config import CONFIG_FILE, CONFIG_VARIABLE
    from ..config.loading import find_file
    from ..config.trust import read_record, trust_of, user_file
    from ..patterns.listing import ConfigPath

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
    from ..errors import BadUsage, did_you_mean
    from ..schemas import schema as schema_of
    from ..schemas import schema_names, schema_summary

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
    from ..config.trust import add_trust, digest_of, key_of
    from ..errors import BadUsage

    if [listed, revoke, yes].count(True) > 1:
        raise BadUsage("--list, --revoke and --yes exclude each other")
    if listed:
        list_trusted(as_json=as_json)
        return
    if revoke:
        revoke_files(path, as_json=as_json)
        return
    if as_json and not yes:
        raise BadUsage("--json cannot ask: review the files, and pass --yes")
    files = folder_files(folder_of(path))
    # Digests first: what changes during the review is not trusted.
    digests = {key_of(file.path): digest_of(file.path) for file in files}
    if not as_json:
        write_lines(map(printable, review_lines(files)))
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


def folder_of(text: str) -> str:
    """The folder of a path, or of a file in it; '' is the working directory."""
    from pathlib import Path

    from ..errors import BadUsage

    path = Path(text)
    if not path.exists():
        raise BadUsage(f"{text}: no such file or folder")
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
    from ..config.layers import leaves_of

    return tuple(
        (".".join(map(str, place)), as_text(value))
        for layer in loaded.layers
        if layer.name == name
        for key, content in layer.values.items()
        for place, value in leaves_of((key,), content)
    )


def review_lines(files: Iterable[Reviewed]) -> Iterator[str]:
    """What there is to review."""
    for file in files:
        yield f"{file.path} sets:" if file.sets else f"{file.path} sets nothing"
        yield from (f"  {name}: {value}" for name, value in file.sets)
        if file.uses:
            yield "and uses these files, which you should read too:"
            yield from (f"  {path}" for path in file.uses)


def ask() -> None:
    """Ask at the terminal. BadUsage where there is none, or where the answer is not yes."""
    from ..errors import BadUsage

    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadUsage("cannot ask, not a terminal: review the files, and pass --yes")
    write_text("Trust these files as they are? [y/N] ")
    flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadUsage("not trusted")


def show_trust(name: str, *, as_json: bool) -> None:
    """Show one trusted file, and whether it is still as it was reviewed."""
    from ..config.trust import read_record, trust_of
    from ..patterns.listing import TrustRow

    known, _ = read_record()
    status = trust_of(name, known.get)
    digest = known[name].digest
    record = TrustRow(path=name, status=status.status, at=status.at, digest=digest)
    emit([record], [printable(f"{status.status}  {status.at}  {name}")], as_json=as_json)


def list_trusted(*, as_json: bool) -> None:
    """List every trusted file."""
    from ..config.trust import read_record

    known, warning = read_record()
    if warning:
        warn(warning, as_json=as_json)
    for name in sorted(known):
        show_trust(name, as_json=as_json)
    if not known and not as_json:
        write_line("nothing is trusted")


def revoke_files(text: str, *, as_json: bool) -> None:
    """Stop trusting a file, or all files of a folder."""
    from pathlib import Path

    from ..config.trust import key_of, read_record, revoke_trust
    from ..errors import BadUsage
    from ..patterns.listing import TrustRow

    folder = key_of(Path(text, "x")).removesuffix("x")
    names = [name for name in sorted(read_record()[0]) if name == key_of(text) or name.startswith(folder)]
    if not names:
        raise BadUsage(f"{text}: nothing there is trusted; see 'ethogram config trust --list'")
    revoke_trust(names)
    for name in names:
        record = TrustRow(path=name, status="revoked", at=None, digest=None)
        emit([record], [printable(f"revoked  {name}")], as_json=as_json)
