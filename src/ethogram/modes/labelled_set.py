"""Labelled sets: where the labels of a set are, and where its events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadUsage
from ..records import Event
from .labels import SUFFIXES, Label, is_labels


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set: its name, the file of its labels (None where events carry them) and its files of events."""

    name: str
    labels: Path | None
    events: tuple[Path, ...]

    @property
    def files(self) -> list[Path]:
        """All files of the set, for a digest."""
        inside = [one for path in self.events for one in (path.rglob("*") if path.is_dir() else [path])]
        return [one for one in (*([self.labels] if self.labels else []), *inside) if one.is_file()]


def located(
    given: str, data: Sequence[str] = (), folder: str = "", *, in_events: bool = False
) -> LabelledSet:
    """The set that a path or name means.

    A folder holds labels.jsonl or labels.csv beside its events; mine.labels.csv lies beside mine.jsonl, or
    any other file of events whose name begins so. `data` names the events where they are elsewhere, `folder`
    is where sets are found by name, and `in_events` says that the events carry the labels.
    """
    path = _path(given, folder)
    elsewhere = tuple(Path(one) for one in data)
    if in_events:
        return LabelledSet(_name(path), None, elsewhere or (path,))
    if path.is_dir():
        found = [one for one in sorted(path.iterdir()) if one.is_file() and is_labels(one)]
        if len(found) != 1:
            several = f"{len(found)} files of labels" if found else "no file of labels"
            raise BadUsage(f"{given[:200]!r} has {several}; one is needed: labels.jsonl or labels.csv")
        return LabelledSet(path.name, found[0], elsewhere or _beside(found[0], ""))
    if is_labels(path):
        stem = path.name.partition("labels.")[0]
        return LabelledSet(_name(path), path, elsewhere or _beside(path, stem))
    labels = [
        one
        for end in SUFFIXES
        if (one := path.with_name(f"{path.name.partition('.')[0]}.labels{end}")).is_file()
    ]
    if not labels:
        name = path.name.partition(".")[0]
        raise BadUsage(
            f"{given[:200]!r} has no labels beside it: write them into {name}.labels.jsonl (or .csv), "
            "or say with --label which attribute of the events tells them"
        )
    return LabelledSet(_name(path), labels[0], elsewhere or (path,))


def _path(given: str, folder: str) -> Path:
    path = Path(given)
    if path.exists():
        return path
    if folder and "/" not in given:
        for one in (Path(folder) / given, *sorted(Path(folder).glob(f"*/{given}"))):
            if one.exists():
                return one
    raise BadUsage(f"no such file, folder or set: {given[:200]!r}")


def _name(path: Path) -> str:
    name = path.name.partition(".")[0]
    return path.resolve().parent.name if name == "labels" else name


def _beside(labels: Path, stem: str) -> tuple[Path, ...]:
    found = [
        one
        for one in sorted(labels.parent.iterdir())
        if one.name.startswith(stem) and not one.name.startswith(".") and not is_labels(one)
    ]
    if not found:
        raise BadUsage(f"there are no events beside {str(labels)[:200]!r}; name them with --data")
    return tuple(found)


def labels_in(events: Iterable[Event], attribute: str, targets: Collection[str]) -> list[Label]:
    """A label for each thread whose events carry the attribute; a target where its value is one of these.

    The first event that carries it tells.
    """
    found: dict[tuple[str, str], str] = {}
    for event in events:
        value = event.attributes.get(attribute)
        if event.thread is not None and isinstance(value, (str, int, float)):
            found.setdefault((event.source, event.thread), str(value))
    if not found:
        raise BadUsage(f"no event in a thread has the attribute {attribute[:80]!r}")
    if not set(targets) & set(found.values()):
        there = ", ".join(sorted(set(found.values()))[:8])
        raise BadUsage(
            f"no {attribute[:80]} is {' or '.join(sorted(targets))[:80]!r}; there are {there[:200]}"
        )
    return [
        Label(f"{source}/{thread}", value in targets, "run", source=source, thread=thread)
        for (source, thread), value in found.items()
    ]
