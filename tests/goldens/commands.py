"""The commands of the README, of the tutorial and of the pages about stores, and what they answer as JSON."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import ethogram
from ethogram.app.demo import copy_examples
from golden_text import Normal, alone, answers

INPUT = Path(__file__).with_name("input")
PACKAGE = Path(ethogram.__file__).parent
AS_OF = "--as-of 2026-03-24T00:00:00Z"
STORE = "--store events.db"
ANN = "3253a6767c611d5f2cb2"
"""Love bombing of ann, as docs/verdicts.md names it."""
SETTINGS = "learning: {history_retention_days: 36500}\n"
"""Verdicts with a date stay, whenever this runs."""
KEY = "ethogram usage key 1\n" + "5e" * 32 + "\n"

README = (
    "demo --json",
    "demo --copy copied --json",
    "analyze histories/run.jsonl --json",
    "chat histories/risk.jsonl --summary --json",
    "chat histories/risk.jsonl --json",
    "assess histories/network.jsonl --json",
    "analyze histories/network.jsonl --json",
    "analyze histories/usage.jsonl --json",
    "analyze histories/run.jsonl --patterns mine --json",
    "patterns test mine --json",
    "analyze histories/run.jsonl --fail-on high --json",
)
TUTORIAL = (
    "analyze run.jsonl --json",
    "why repetitive_errors fixer run.jsonl --json",
    "why scope_creep fixer run.jsonl --json",
    "patterns list --json",
    "patterns show loop --json",
    "patterns test mine --json",
    "analyze run.jsonl --patterns mine --json",
    f"store import run.jsonl {STORE} --keep-text --json",
    f"sweep {STORE} --json",
    f"sweep {STORE} --json",
    f"store detections {STORE} --json",
    "watch run.jsonl --once --json",
    "analyze run.jsonl --fail-on high --json",
)
STORES = (
    f"store import histories {STORE} --keep-text --json",
    f"store import histories/conversation.jsonl {STORE} --keep-text --json",
    f"store info {STORE} --json",
    f"sweep {STORE} {AS_OF} --json",
    f"sweep {STORE} {AS_OF} --json",
    f"store detections {STORE} --json",
    f"store detections {STORE} --severity high --since 2026-03-16T00:00:00Z --limit 1 --json",
    f"store subject {STORE} --sort detections --json",
    f"store subject visitor {STORE} --json",
    f"store risk {STORE} --json",
    f"store risk ann {STORE} --json",
    f"store history visitor {STORE} --json",
    f"store who {STORE} --subject ann --json",
    f"store alike mole {STORE} --json",
    f"store early love_bombing {STORE} --json",
    f"store groups {STORE} --by target --json",
    f"analyze {STORE} --patterns love_bombing --json",
    "why love_bombing ann histories/conversation.jsonl --json",
    "store copy events.db archive.db --json",
    "store info --store archive.db --json",
    f"store export {STORE} --output everything.jsonl",
    "store import everything.jsonl --store copy.db --json",
    f"store export-subject {STORE} --subject ann",
    f"store purge {STORE} --subject bo --redact --json",
    f"store purge {STORE} --before 2026-03-05T00:00:00Z --json",
    f"store info {STORE} --json",
    f"sweep {STORE} {AS_OF} --json",
)
MISSED = "--missed love_bombing --subject visitor --from q001 --to q003 --by kim"
JUDGING = (
    "config trust . --yes --json",
    f"store import histories {STORE} --json",
    f"sweep {STORE} {AS_OF} --patterns love_bombing --json",
    f"verdict {ANN} confirmed --why Pressed. --by kim --at 2026-03-24T10:00:00Z {STORE} --json",
    f"verdict {ANN} false_alarm --by lee --blind --at 2026-03-24T11:00:00Z {STORE} --json",
    f"verdict {MISSED} --at 2026-03-24T12:00:00Z {STORE} --json",
    f"verdict {ANN} {STORE} --json",
    f"verdict --list {STORE} --json",
    f"verdict --second --by sam {STORE} --json",
    f"patterns accuracy {STORE} --json",
    f"patterns accuracy --calibration love_bombing {STORE} --json",
    f"patterns learn {STORE} --json",
    "patterns learn --list --json",
    f"store risk ann {STORE} --json",
    "mute add --pattern love_bombing --subject ann --until 2100-01-01T00:00:00Z --reason known --json",
    "mute list --json",
    "analyze histories/conversation.jsonl --json",
)
PEOPLE = (
    "usage record histories/usage.jsonl --store usage.db --key usage.key --json",
    "usage record histories/usage.jsonl --store usage.db --key usage.key --json",
    "usage signals fay --store usage.db --key usage.key --as-of 2026-03-15T19:25:00Z --why asked --json",
    "usage sweep --store usage.db --key usage.key --as-of 2026-03-15T19:25:00Z --json",
    "usage info --store usage.db --key usage.key --json",
    "usage key check --store usage.db --key usage.key --json",
    "store export-subject --store usage.db --key usage.key --subject fay --why asked",
    "store purge --store usage.db --key usage.key --subject fay --json",
    "usage key rotate usage.key --store usage.db --json",
    "usage audit --store usage.db --key usage.key --json",
    "usage info --store usage.db --key usage.key --json",
    "store import histories/usage.jsonl --store private.db --pseudonyms usage.key --json",
    f"sweep --store private.db {AS_OF} --json",
    "store subject fay --store private.db --key usage.key --why asked --json",
    "usage audit --store private.db --key usage.key --json",
    "store info --store private.db --json",
)
CATALOGUES = (
    "signals list --json",
    "signals list --indicators --json",
    "signals list --attributes --json",
    "signals list --tables --json",
    "signals lexicon --json",
    "signals evaluators --json",
    "signals scan histories/network.jsonl --messages --json",
    "patterns lint mine --json",
    "config show --json",
    "config schema --list",
    "evaluate histories/network.jsonl --evaluator local --json",
)
VARYING = ("bytes",)
"""Fields whose values depend on the machine."""


def answered(folder: Path, lines: Sequence[str], *, is_private: bool = False, settings: str = "") -> str:
    """What commands answer in a folder with the examples, the run of the tutorial, a pattern and a key."""
    copy_examples(folder / "histories")
    (folder / "mine").mkdir()
    if settings:
        (folder / "ethogram.yaml").write_text(settings, encoding="utf-8")
    shutil.copy(INPUT / "deploy_after_failure.yaml", folder / "mine")
    shutil.copy(INPUT / "run.jsonl", folder)
    key = folder / "usage.key"
    key.write_text(KEY, encoding="utf-8")
    key.chmod(0o600)
    with alone(folder):
        normal = Normal({str(folder): "folder", str(PACKAGE): "package"}, VARYING, is_private=is_private)
        return answers(lines, normal)
