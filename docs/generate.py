"""Generate docs/library.md from the pattern files, docs/record_fields.md from the record classes,
docs/settings.md from the settings, the anchors in docs/rubric.md from the rubric, and docs/llms.txt from the
navigation of the site.

Run it after changing one of these: python docs/generate.py
"""

from __future__ import annotations

import inspect
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from ethogram.evaluators.rubric import LEVELS, load_rubric
from ethogram.patterns.library import SHIPPED, load_patterns
from ethogram.patterns.pattern_file import PatternFile
from ethogram.schemas import Schema, record_type, schema, schema_names, schema_summary

PAGE = Path(__file__).parent / "library.md"
RUBRIC = Path(__file__).parent / "rubric.md"
RECORDS = Path(__file__).parent / "record_fields.md"
SETTINGS = Path(__file__).parent / "settings.md"
LLMS = Path(__file__).parent / "llms.txt"
SITE = Path(__file__).parents[1] / "zensical.toml"
MARK = "<!-- Written by docs/generate.py from vocabulary/rubric.yaml; change that. -->\n"
HEAD = """\
# Pattern library

<!-- Written by docs/generate.py from the pattern files; change those. -->

The patterns that ship with ethogram. `stable` patterns are on; `experimental` ones run only when named:
`ethogram analyze FILE --patterns goal_drift`. Override parameters in `ethogram.yaml`. The
[pattern language](language.md) defines the words of a shape.
"""
RECORDS_HEAD = """\
# Record fields

<!-- Written by docs/generate.py from the record classes; change those. -->

One section per schema of `ethogram config schema NAME`. Fields marked "optional" may be absent; all others
are always present. [Records](records.md) has examples and the compatibility promise.
"""
SETTINGS_HEAD = """\
# Settings

<!-- Written by docs/generate.py from config/settings.py; change that. -->

Every setting of `ethogram.yaml`, as `ethogram config schema` describes it. [Configuration](configuration.md)
says where the file is, which source wins, what is trusted, and what `limits` there are. A duration is `30s`,
`12h`, `7d` or `2w`.
"""
SECTIONS = {
    "hook": "hook.md#settings",
    "usage": "people.md#settings",
    "conversation": "chat.md#embedders",
    "graph": "graph.md#what-is-in-it",
    "risk": "risk.md#how-it-is-composed",
    "learning": "learning.md#automatic-changes",
    "metrics": "service.md#metrics",
}
"""Settings with settings of their own, and the page that explains them."""
LLMS_HEAD = """\
# ethogram

> Detects behaviour patterns over time in agent runs, chats and user activity. A Python package (3.11+) with a
> command line, a library and a service. No model and no network are needed.

- On no package index yet. In a clone: `make demo`, then `. .venv/bin/activate`. First look: `ethogram demo`,
  then `ethogram analyze FILE --json`.
- Input is one JSON event a line (`subject`, `at`, `thread`, `target`, `kind`, `text`, `attributes`,
  `readings`), or a transcript, conversation, CSV or Parquet file; the format is detected.
- From Python: `ethogram.analyze`, `Watch`, `RunGuard`, `Conversation`, `UsageTracker`.
- Every command has `--help`; `ethogram config schema NAME` prints the JSON Schema of a record,
  `ethogram why PATTERN SUBJECT FILE` explains an answer.
- Exit codes: 0 fine, 2 bad input or usage, 3 a detection at or above `--fail-on`.
- A detection describes conduct, not intent. Patterns marked experimental are off unless named.
- On unseen text and logs: use it for coding agents, pilot it for people; chats are no gate, networks of
  agents are experimental ([quality](quality.md)).
"""
FAMILIES = {
    "conversation": "Conversations",
    "run": "Agent runs",
    "usage": "Usage of a service",
    "risk": "Multi-turn risk",
    "combination": "Combinations",
}
KEYS = ("parameters", "define", "for_each", "shape", "tell_at", "confidence", "severity")
"""Keys of a pattern file that are shown as written."""


def page() -> str:
    """The page of the pattern library."""
    shipped = [one for one in load_patterns(["*"]) if not one.in_code]
    files = sorted(shipped, key=lambda one: (list(FAMILIES).index(family(one)), one.name))
    parts = [HEAD, index(files)]
    for name, title in FAMILIES.items():
        parts.append(f"## {title}\n")
        parts += [section(one) for one in files if family(one) == name]
    return "\n".join(parts)


def family(file: PatternFile) -> str:
    """The folder of a pattern."""
    return Path(file.path).parent.name


def index(files: list[PatternFile]) -> str:
    """A table of all patterns."""
    rows = [f"| [{one.name}](#{one.name}) | {one.title} | {status(one)} |" for one in files]
    return "\n".join(["| pattern | title | status |", "| --- | --- | --- |", *rows, ""])


def status(file: PatternFile) -> str:
    """The status, and what real data say where the file says so."""
    evidence = file.words.get("evidence")
    return f"{file.status}, [{evidence}](quality.md#patterns-over-time)" if evidence else file.status


def section(file: PatternFile) -> str:
    """The section of one pattern."""
    words, data = file.words, file.data
    group_by = ", ".join(file.patterns[0].group_by)
    facts = [
        f"- Status: {status(file)}. Grouped by: {group_by}. Cause: {data['cause']}.",
        f"- Triage: {words['triage']}",
        f"- Recommendation: {data['recommendation']}",
    ]
    if data.get("confirms"):
        facts.append(f"- Confirms: {', '.join(data['confirms'])}.")
    return "\n".join(
        [
            f"### {file.name}\n",
            f"**{file.title}.** {words['description']}\n",
            *facts,
            "",
            "```yaml",
            as_written(file),
            "```\n",
            *bullets("False positives", words["false_positives"]),
            *bullets("Misses", words["misses"]),
            *bullets("Fires on", [one.story for one in file.examples if one.fires]),
            *bullets("Quiet on", [one.story for one in file.examples if not one.fires]),
            *bullets("References", words["references"]),
        ]
    )


def bullets(title: str, items: list[str]) -> list[str]:
    """A titled list and an empty line; nothing without items."""
    return [f"{title}:\n", *(f"- {item}" for item in items), ""] if items else []


def as_written(file: PatternFile) -> str:
    """The lines of the file under `KEYS`, comments included."""
    kept: list[str] = []
    inside = False
    for line in Path(file.path).read_text(encoding="utf-8").splitlines():
        if line and not line[0].isspace() and not line.startswith("#"):
            inside = line.partition(":")[0] in KEYS
        if inside:
            kept.append(line)
    return "\n".join(kept).rstrip()


def rubric_page() -> str:
    """The hand-written part of the rubric page, up to the mark, and the anchors."""
    parts = [RUBRIC.read_text(encoding="utf-8").partition(MARK)[0] + MARK]
    for trait in load_rubric().values():
        parts += [f"### {trait.name}\n", f"{trait.means} It is not: {trait.is_not}\n"]
        rows = [f"| {level:g} | {line} |" for level, line in zip(LEVELS, trait.anchors, strict=True)]
        parts.append("\n".join(["| score | the message |", "| --- | --- |", *rows, ""]))
    return "\n".join(parts)


def records_page() -> str:
    """Every record with its fields, types and descriptions."""
    parts = [RECORDS_HEAD]
    for name in schema_names():
        if name in ("pattern", "config"):  # language.md and configuration.md explain these
            continue
        body = schema(name)
        rows = []
        for key, one in body["properties"].items():
            may_lack = "" if key in body["required"] else ", optional"
            rows.append(f"| `{key}` | {type_text(one)}{may_lack} | {one.get('description', '')} |")
        table = ["| field | type | description |", "| --- | --- | --- |", *rows, ""]
        parts.append("\n".join([f"## {name}\n", f"{schema_summary(name)}\n", *notes(name), *table]))
    return "\n".join(parts)


def notes(name: str) -> list[str]:
    """What the docstring of a record says below its first line, in the words of JSON."""
    text = (inspect.getdoc(record_type(name)) or "").partition("\n")[2]
    return [" ".join(text.replace("None", "null").split()) + "\n"] if text.strip() else []


def settings_page() -> str:
    """Every setting with its type, default and description."""
    settings = schema("config")["properties"]
    parts = [
        SETTINGS_HEAD,
        settings_table({name: item for name, item in settings.items() if name not in {*SECTIONS, "limits"}}),
    ]
    for name, page in SECTIONS.items():
        own, defaults = settings[name]["properties"], settings[name]["default"]
        items = {key: {**item, "default": defaults.get(key)} for key, item in own.items()}
        parts.append(f"## {name}\n\n{settings[name]['description']} [Explained here]({page}).\n")
        parts.append(settings_table(items))
    return "\n".join(parts)


def settings_table(items: dict[str, Schema]) -> str:
    """Settings as a table."""
    rows = [
        f"| `{name}` | {type_text(item)} | {default_text(item['default'])} | {item.get('description', '')} |"
        for name, item in items.items()
    ]
    return "\n".join(["| setting | type | default | meaning |", "| --- | --- | --- | --- |", *rows, ""])


def default_text(value: Any) -> str:
    """A default as it would stand in the file."""
    return (
        ""
        if value in (None, [], {})
        else f"`{json.dumps(value)}`"
        if not isinstance(value, str)
        else f"`{value}`"
    )


def llms_page() -> str:
    """The pages of the site with their titles, by section of the navigation, as language models read it."""
    parts, alone = [LLMS_HEAD], []
    for entry in tomllib.loads(SITE.read_text(encoding="utf-8"))["project"]["nav"]:
        ((section, pages),) = entry.items()
        if isinstance(pages, str):
            alone.append(pages)
        else:
            parts.append("\n".join([f"## {section}\n", *map(llms_link, pages), ""]))
    parts.insert(1, "\n".join(["## Start\n", *map(llms_link, alone), ""]))
    return "\n".join(parts)


def llms_link(name: str) -> str:
    """A page as a list item: its first heading, and its file."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return f"- [{text.partition(chr(10))[0].removeprefix('# ')}]({name})"


def type_text(one: Schema) -> str:
    """A JSON Schema in a few words."""
    if "const" in one:
        return f"`{one['const']}`" if isinstance(one["const"], str) else str(one["const"]).lower()
    if one.get("enum", ())[:2] == [True, False]:
        return "true or false"
    if "enum" in one:
        return " or ".join(f"`{word}`" if word else "empty" if word == "" else "null" for word in one["enum"])
    if "anyOf" in one:
        return " or ".join(map(type_text, one["anyOf"]))
    kinds = one.get("type", "anything")
    if isinstance(kinds, list):
        return " or ".join(type_text({**one, "type": kind}) for kind in kinds)
    if kinds == "object" and "properties" in one:
        record = one["properties"].get("record", {}).get("const")
        return (
            f"[{record}](#{record})"
            if record
            else "{" + ", ".join(f"`{key}`" for key in one["properties"]) + "}"
        )
    if kinds == "object" and isinstance(one.get("additionalProperties"), dict):
        return f"object of {type_text(one['additionalProperties'])}"
    if kinds == "array" and "prefixItems" in one:
        return f"[{', '.join(map(type_text, one['prefixItems']))}]"
    if kinds == "array":
        return f"list of {type_text(one['items'])}"
    if kinds == "string":
        pattern = one.get("pattern", "")
        return "time" if pattern.startswith("^\\d{4}") else "duration" if "[smhdw]" in pattern else "text"
    if kinds in ("integer", "number"):
        low, high = one.get("minimum"), one.get("maximum")
        ends = "" if low is None else f" from {low}" if high is None else f" {low} to {high}"
        return f"{kinds}{ends}"
    return str(kinds)


def main() -> None:
    """Write the pages."""
    RUBRIC.write_text(rubric_page(), encoding="utf-8")
    RECORDS.write_text(records_page(), encoding="utf-8")
    SETTINGS.write_text(settings_page(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    LLMS.write_text(llms_page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name}: {len(list(SHIPPED.rglob('*.yaml')))} patterns\n")


if __name__ == "__main__":
    main()
