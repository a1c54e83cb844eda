"""What the commands of the hook print: status, interventions and their effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..agents.hook.status import OUTCOMES, PurgedRuns, WatchedPatterns
from .wording import clean, plural

Record = Mapping[str, Any]
INSTALLED = {
    "yes": "installed",
    "partly": "installed for some events only",
    "no": "not installed",
    "unknown": "cannot be read",
}
PLANS = {
    "current": "current",
    "old": "out of date; the next event rebuilds it",
    "none": "none yet; the first event builds it",
}


def watching_lines(watched: WatchedPatterns) -> Iterator[str]:
    """What is watched, which interventions are on, and where state is stored."""
    from ..agents.hook.location import state_dir

    yield from watched_lines(watched.to_dict())
    yield f"Nothing leaves this machine: state is stored in {clean(state_dir())}."


def watched_lines(facts: Record) -> Iterator[str]:
    """The patterns that are watched, and the interventions."""
    names, ladder = facts["watched"], facts["ladder"]
    if names is None:
        yield "Watched here: nothing, since the settings cannot be used"
        return
    yield f"Watched here: {', '.join(names) or 'nothing'}"
    for pattern in facts["left_out"]:
        yield f"  not watched: {pattern['pattern']}, since {pattern['reason']}"
    on = [rung["rung"] for rung in ladder["rungs"] if rung["on"]]
    off = [rung["rung"] for rung in ladder["rungs"] if not rung["on"]]
    without = f"; off: {', '.join(off)}" if off else ""
    yield f"Interventions on: {', '.join(on) or 'none'}{without}"
    if more := [name for name in ladder["off"] if name not in off]:
        yield f"  also turned off: {', '.join(map(clean, more))}"
    limits = f"{plural(ladder['cool_down'], 'step')} apart, at most {ladder['most']} per run"
    critical = "ask at once" if ladder["critical"] == "ask" and "ask" in on else "do not ask"
    yield f"  {limits}, from severity {ladder['lowest']}; critical paths {critical}"


def status_lines(status: Record) -> Iterator[str]:
    """The whole status."""
    for place in status["installed"]:
        installed = INSTALLED[place["installed"]]
        if place["plugin"]:
            also = ", and " if place["command"] else ""
            installed = f"{installed if also else ''}{also}installed as the plugin {clean(place['plugin'])}"
        yield f"{place['scope'].capitalize()}: {installed} ({place['path']})"
        if fault := place["fault"]:
            where = ":".join(str(part) for part in (fault["line"], fault["column"]) if part)
            yield f"  {where + ': ' if where else ''}{fault['message']}"
        if place["command"]:
            missing = "" if place["executable"] else "  (there is no such program: install again)"
            yield f"  runs: {place['command']}{missing}"
        if place["installed"] == "partly":
            yield f"  missing: {', '.join(place['missing'])}; install again to add them"
        if place["disabled"]:
            yield "  disableAllHooks is true there, so no hook runs"
    yield from watched_lines(status)
    if path := status["settings"]["path"]:
        yield f"Settings: {path}"
    for warning in status["settings"]["warnings"]:
        yield f"  {warning}"
    for fault in status["settings"]["faults"]:
        place = ":".join(str(part) for part in (fault["path"], fault["line"], fault["column"]) if part)
        yield f"  cannot be used: {place}: {fault['message']}"
    state = status["state"]
    if state["fault"]:
        yield f"State: {state['path']} cannot be read ({clean(state['fault'])}); the next event sets it aside"
    elif state["bytes"]:
        last = f", last event {state['last_event']}" if state["last_event"] else ""
        counts = f"{plural(state['runs'], 'run')}, {plural(state['said'], 'intervention')}"
        yield f"State: {state['path']} ({state['bytes'] / 1e3:,.0f} kB): {counts}{last}"
    else:
        yield f"State: none yet ({state['path']})"
    if state["set_aside"]:
        yield "  an older one could not be read and was set aside; purge removes it"
    if state["folder_fault"]:
        yield f"  cannot be written: {clean(state['folder_fault'])}; the hook stays silent until it can"
    yield f"Plan for this folder: {PLANS[status['plan']['state']]}"
    faults = status["faults"]
    where = f", in {faults['path']}" if faults["count"] else ""
    yield f"Internal errors: {faults['count'] or 'none'}{where}"
    if faults["newest"]:
        yield f"  newest: {clean(faults['newest'])}"


def report_lines(interventions: Sequence[Record], report: Record, *, is_all: bool) -> Iterator[str]:
    """Every intervention, then what followed."""
    if not interventions:
        what = "No interventions yet" if is_all else "No interventions there"
        yield f"{what}; {plural(report['runs'], 'run')} recorded."
        return
    for message in interventions:
        after = (
            f" after {plural(message['effect_after_steps'], 'step')}"
            if message["effect"] == "went_on"
            else ""
        )
        who = f"{clean(message['session'], 40)} {clean(message['agent'], 40)}"
        what = f"{message['rung']}, {message['pattern']} ({message['severity']})"
        effect = f"{message['effect'].replace('_', ' ')}{after}"
        yield f"{message['at']}  {who} step {message['step']}: {what}: {effect}"
        yield f"  {clean(message['text'])}"
    yield ""
    yield "Effects (stopped: did not recur within 5 steps):"
    for effect in report["effects"]:
        counts = [f"{name.replace('_', ' ')} {effect[name]}" for name in OUTCOMES]
        text = ", ".join([f"given {effect['given']}", *counts])
        if effect["share_stopped"] is not None:
            text += f"; {effect['share_stopped']:.0%} stopped ({effect['low']:.0%} to {effect['high']:.0%})"
        if effect["median_steps_to_stop"] is not None:
            text += f", {effect['median_steps_to_stop']:g} steps after the first intervention (median)"
        yield f"  {effect['pattern']}, {effect['rung']}: {text}"


def purge_lines(purged: PurgedRuns) -> Iterator[str]:
    """What was removed."""
    removed = [plural(purged.runs, "run"), plural(purged.interventions, "intervention")]
    if purged.detections:
        removed.append(plural(purged.detections, "detection"))
    if purged.files:
        removed.append(plural(len(purged.files), "file"))
    yield f"Removed permanently: {', '.join(removed)}."
    yield from (f"  {file}" for file in purged.files)
    if not purged.clean:
        yield "Another program has the state file open: run purge again when it has closed it."


def replay_lines(interventions: Sequence[Record], summary: Record) -> Iterator[str]:
    """What the hook would have said, run by run, and what it comes to."""
    for message in interventions:
        what = f"{message['rung']}, {message['pattern']} {message['severity']}"
        yield f"{message['run']} ({message['agent']}), step {message['step']}: {what}"
        yield f"  {message['text']}"
    runs = f"{summary['runs_spoken_to']} of {plural(summary['runs'], 'run')}"
    same = f"{summary['detections_in_both']} of {summary['detections_by_analyze']} detections as by analyze"
    yield f"{plural(summary['said'], 'intervention')} in {runs}; {same}."
    if (saved := summary["steps_saved_median"]) is not None:
        yield f"Steps from the first intervention to the end of the episode: {saved:g} (median)."
