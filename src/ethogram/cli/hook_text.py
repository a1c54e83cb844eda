"""What the commands of the hook say to a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .text import clean, plural

if TYPE_CHECKING:
    from ..agents.hook.status import Purged, Watching


INSTALLED = {
    "yes": "installed",
    "partly": "installed for some events only",
    "no": "not installed",
    "unknown": "cannot be read",
}
PLANS = {
    "current": "current",
    "old": "out of date; the next event makes it anew",
    "none": "none yet; the first event makes it",
}


def watching_lines(seen: Watching) -> Iterator[str]:
    """What is watched, how far the ladder goes, and where all of it stays."""
    from ..agents.hook.location import state_dir
    from ..agents.hook.status import watched_facts

    yield from watched_lines(watched_facts(seen).to_dict())
    yield f"Nothing leaves this machine: what is known of runs stays in {clean(state_dir())}."


def watched_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """The patterns and the ladder."""
    names, ladder = told["watched"], told["ladder"]
    if names is None:
        yield "Watched here: nothing, since the settings cannot be used"
        return
    yield f"Watched here: {', '.join(names) or 'nothing'}"
    for one in told["left_out"]:
        yield f"  left out: {one['pattern']}, since {one['reason']}"
    on = [one["rung"] for one in ladder["rungs"] if one["on"]]
    off = [one["rung"] for one in ladder["rungs"] if not one["on"]]
    without = f"; off: {', '.join(off)}" if off else ""
    yield f"Rungs that are on: {', '.join(on) or 'none'}{without}"
    if more := [one for one in ladder["off"] if one not in off]:
        yield f"  turned off, too: {', '.join(map(clean, more))}"
    limits = f"{plural(ladder['cool_down'], 'step')} between two, at most {ladder['most']} a run"
    asked = "asked about at once" if ladder["critical"] == "ask" and "ask" in on else "not asked about"
    yield f"  {limits}, from severity {ladder['lowest']}; critical paths are {asked}"


def status_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """The whole status."""
    for one in told["installed"]:
        yield from _place_lines(one)
    yield from watched_lines(told)
    if path := told["settings"]["path"]:
        yield f"Settings: {path}"
    for warning in told["settings"]["warnings"]:
        yield f"  {warning}"
    for one in told["settings"]["faults"]:
        place = ":".join(str(part) for part in (one["path"], one["line"], one["column"]) if part)
        yield f"  cannot be used: {place}: {one['message']}"
    yield from _state_lines(told["state"])
    yield f"Plan for this folder: {PLANS[told['plan']['state']]}"
    faults = told["faults"]
    yield f"Faults of ours: {faults['count'] or 'none'}" + (
        f", in {faults['path']}" if faults["count"] else ""
    )
    if faults["newest"]:
        yield f"  the newest: {clean(faults['newest'])}"


def _place_lines(one: Mapping[str, Any]) -> Iterator[str]:
    yield f"{one['scope'].capitalize()}: {INSTALLED[one['installed']]} ({one['path']})"
    if one["fault"]:
        place = ":".join(str(part) for part in (one["fault"]["line"], one["fault"]["column"]) if part)
        yield f"  {place + ': ' if place else ''}{one['fault']['message']}"
    if one["command"]:
        there = "" if one["executable"] else "  (there is no such program: install again)"
        yield f"  runs: {one['command']}{there}"
    if one["installed"] == "partly":
        yield f"  missing: {', '.join(one['missing'])}; install again to add them"
    if one["disabled"]:
        yield "  disableAllHooks is true there, so no hook runs"


def _state_lines(state: Mapping[str, Any]) -> Iterator[str]:
    if state["fault"]:
        yield f"State: {state['path']} cannot be read ({clean(state['fault'])}); the next event sets it aside"
    elif state["bytes"]:
        last = f", the last event {state['last_event']}" if state["last_event"] else ""
        counts = f"{plural(state['runs'], 'run')}, {plural(state['said'], 'intervention')}"
        yield f"State: {state['path']} ({state['bytes'] / 1e3:,.0f} kB): {counts}{last}"
    else:
        yield f"State: none yet ({state['path']})"
    if state["set_aside"]:
        yield "  an older one could not be read and was set aside; purge removes it"
    if state["folder_fault"]:
        yield f"  nothing can be kept: {clean(state['folder_fault'])}; the hook stays silent until it can"


def report_lines(
    said: Sequence[Mapping[str, Any]], told: Mapping[str, Any], *, is_all: bool
) -> Iterator[str]:
    """Every intervention, then what came of them."""
    if not said:
        runs = plural(told["runs"], "run")
        what = "Nothing was said yet" if is_all else "Nothing was said there"
        yield f"{what}; {runs} {'is' if told['runs'] == 1 else 'are'} known."
        return
    for one in said:
        after = f" after {plural(one['effect_after_steps'], 'step')}" if one["effect"] == "went_on" else ""
        who = f"{clean(one['session'], 40)} {clean(one['agent'], 40)}"
        what = f"{one['rung']}, {one['pattern']} ({one['severity']})"
        yield f"{one['at']}  {who} step {one['step']}: {what}: {one['effect'].replace('_', ' ')}{after}"
        yield f"  {clean(one['text'])}"
    yield ""
    yield "What came of it (stopped: did not come again within 5 steps):"
    for one in told["effects"]:
        yield f"  {one['pattern']}, {one['rung']}: {_effect_text(one)}"


def _effect_text(one: Mapping[str, Any]) -> str:
    parts = [f"given {one['given']}"]
    from ..agents.hook.status import OUTCOMES

    parts += [f"{name.replace('_', ' ')} {one[name]}" for name in OUTCOMES]
    text = ", ".join(parts)
    if one["share_stopped"] is not None:
        text += f"; {one['share_stopped']:.0%} stopped ({one['low']:.0%} to {one['high']:.0%})"
    if one["median_steps_to_stop"] is not None:
        text += f", {one['median_steps_to_stop']:g} steps after the first word on it (median)"
    return text


def purge_lines(done: Purged) -> Iterator[str]:
    """What is gone."""
    gone = [plural(done.runs, "run"), plural(done.said, "intervention")]
    if done.found:
        gone.append(plural(done.found, "detection"))
    if done.files:
        gone.append(plural(len(done.files), "file"))
    yield f"Removed for good: {', '.join(gone)}."
    for one in done.files:
        yield f"  {one}"
    if not done.clean:
        yield "Another program has the state file open: old pages are gone when it closes. Purge again then."


def replay_lines(said: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> Iterator[str]:
    """What would have been said, run by run, and what it comes to."""
    for one in said:
        what = f"{one['rung']}, {one['pattern']} {one['severity']}"
        yield f"{one['run']} ({one['agent']}), step {one['step']}: {what}"
        yield f"  {one['text']}"
    runs = f"{told['runs_spoken_to']} of {plural(told['runs'], 'run')}"
    same = f"{told['detections_in_both']} of {told['detections_by_analyze']} detections as by analyze"
    yield f"{plural(told['said'], 'intervention')} in {runs}; {same}."
    if (saved := told["steps_saved_median"]) is not None:
        yield f"Steps from the first word to the end of what it was about: {saved:g} (median)."
