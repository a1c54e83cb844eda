"""Scenarios: short runs in which a pattern is there, and a few in which it nearly is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..errors import BadUsage, did_you_mean
from ..models import Event
from .events import action, numbered, says

Scenario = Callable[[], list[Event]]
TASK = "Fix the total of the invoice in src/billing/invoice.py; it ignores the discount."


def history(scenario: str) -> list[Event]:
    """The events of a scenario, each ten seconds after the one before; BadUsage names those there are.

    >>> len(history("repetitive_errors")), sorted(SCENARIOS)[:2]
    (4, ['confused_state', 'different_errors'])
    """
    if scenario not in SCENARIOS:
        known = ", ".join(sorted(SCENARIOS))
        near = did_you_mean(scenario, SCENARIOS)
        raise BadUsage(f"unknown scenario {scenario[:60]!r}{near}; there are {known}")
    return numbered(SCENARIOS[scenario]())


def repetitive_errors() -> list[Event]:
    """The same read fails four times, and nothing is done about it."""
    return [action("file_read", path="notes.md", error="not_found") for _ in range(4)]


def same_error_five_times() -> list[Event]:
    """The same read fails five times: as grave as it gets."""
    return [action("file_read", path="notes.md", error="not_found") for _ in range(5)]


def different_errors() -> list[Event]:
    """Three failures that have nothing to do with each other."""
    return [
        action("file_read", path="notes.md", error="not_found"),
        action("file_write", path="out.txt", error="permission_denied"),
        action("network", url="https://example.org", error="timeout"),
    ]


def scope_creep() -> list[Event]:
    """Two files of the project, then the passwords of the machine and a log that is none of its business."""
    return [
        says(TASK, role="user"),
        action("file_read", path="/project/src/main.ex", cwd="/project", result="defmodule Main"),
        action("file_read", path="/project/lib/helper.ex", cwd="/project", result="defmodule Helper"),
        action("file_read", path="/etc/passwd", cwd="/project", result="root:x:0:0"),
        action("file_write", path="/var/log/app.log", cwd="/project", result="written"),
    ]


def goal_drift() -> list[Event]:
    """Asked about invoices, it begins there and ends with the colours of a website."""
    near = ["src/billing/invoice.py", "src/billing/discount.py", "src/billing/total.py"] * 2
    far = [f"web/theme/{name}.css" for name in ("colours", "fonts", "icons", "shadows", "banner", "menu")] * 4
    return [
        says(TASK, role="user"),
        *(
            action("file_read", path=path, result=f"invoice total discount {n}")
            for n, path in enumerate(near)
        ),
        *(
            action("file_write", path=path, content=f"palette {n}", result="written")
            for n, path in enumerate(far)
        ),
    ]


def resource_spiral() -> list[Event]:
    """Memory more than doubles with every step."""
    return [action("memory_usage", value=value) for value in (100, 200, 450, 1100, 2500, 5600)]


def exploration_wandering() -> list[Event]:
    """Round and round through many folders, reading again what was read before."""
    folders = ["src", "src/a/b/c", "docs", "lib/x", "tools/y/z", "tests", "config/d", "web/e/f"]
    paths = [f"{folder}/readme.md" for folder in folders] * 3
    return [action("file_read", path=path, result="nothing of interest") for path in paths]


def hallucination() -> list[Event]:
    """Files that were never there, opened as if they were."""
    missing = ["src/helpers.py", "src/util/strings.py", "src/core/engine.py", "lib/missing.py"]
    message = "No such file or directory"
    return [action("file_read", path=path, error=message, assumed_exists=True) for path in missing]


def error_exploration_loop() -> list[Event]:
    """Stuck on an error, then looking everywhere."""
    return [*repetitive_errors(), *exploration_wandering()]


def runaway_execution() -> list[Event]:
    """Away from the goal, and using more of everything with every step."""
    return [
        replace(item, attributes={**item.attributes, "memory": 1e8 * 1.3**n})
        if item.kind == "action"
        else item
        for n, item in enumerate(goal_drift())
    ]


def confused_state() -> list[Event]:
    """Files that are not there, outside of what the task is about."""
    return [*hallucination(), *scope_creep()[1:]]


SCENARIOS: Mapping[str, Scenario] = {
    item.__name__: item
    for item in (
        repetitive_errors,
        same_error_five_times,
        different_errors,
        scope_creep,
        goal_drift,
        resource_spiral,
        exploration_wandering,
        hallucination,
        error_exploration_loop,
        runaway_execution,
        confused_state,
    )
}
"""Every scenario by its name; those named like a pattern make it fire."""
