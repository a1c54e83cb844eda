"""Taking up what was learned: into its file, a step at a time where nobody is asked, and back out of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from ..config import Loaded
from ..config.learned import read_changes, write_changes
from ..config.settings import learning_in
from ..errors import BadUsage, did_you_mean
from ..risk.changes import AUTOMATIC, Change, Changes, accepted, in_force, undone
from ..risk.overlays import Steps, automatic
from ..risk.proposal import Proposal
from ..stores.protocol import Store
from .learning import open_proposal


def accept(store: Store, pattern: str, loaded: Loaded, *, by: str, at: datetime) -> Change:
    """The change that takes up the newest proposal for a pattern; in force when settings are read next."""
    told = open_proposal(store, pattern, loaded.settings)
    if told is None:
        raise BadUsage(f"there is no proposal for {pattern}; `ethogram learn {pattern}` makes one, if any")
    return take_up(loaded, told, by=by, at=at)


def take_up(loaded: Loaded, proposal: Proposal, *, by: str, at: datetime) -> Change:
    """The change that a proposal makes, written to the file of what was learned."""
    if loaded.settings.parameters.get(proposal.pattern, {}).get(proposal.parameter) is not None:
        _check_layers(loaded, proposal)
    changes = read_changes(loaded.learned)
    try:
        changes = accepted(changes, proposal, by=by, at=at, why=proposal.sentence())
    except ValueError as error:
        raise BadUsage(str(error)) from None
    write_changes(loaded.learned, changes)
    return changes[-1]


def _check_layers(loaded: Loaded, proposal: Proposal) -> None:
    """BadUsage where a variable or an option has the last word, so that a change would change nothing."""
    place = ("parameters", proposal.pattern, proposal.parameter)
    last = next((one for one in reversed(loaded.layers) if one.says(place)), None)
    if last is not None and last.node is None:
        raise BadUsage(f"{'.'.join(place)} is set by {last.name}, which wins over what is learned")


def undo(pattern: str, loaded: Loaded, *, by: str, at: datetime) -> Change:
    """The change that takes back the newest one of a pattern that still stands."""
    changes = read_changes(loaded.learned)
    try:
        changes = undone(changes, pattern, by=by, at=at)
    except ValueError:
        near = did_you_mean(pattern, in_force(changes))
        raise BadUsage(f"nothing was learned of {pattern!r:.80} that could be taken back{near}") from None
    write_changes(loaded.learned, changes)
    return changes[-1]


def go_by_itself(proposal: Proposal, loaded: Loaded, *, at: datetime) -> Change | str:
    """The step towards a proposal that may be taken without asking; or why none may."""
    told = learning_in(loaded.settings)
    steps = Steps(told["step"], told["far"], told["lose"], timedelta(days=told["apart_days"]))
    changes = read_changes(loaded.learned)
    base_value = _unlearned(proposal, changes)
    found = automatic(proposal, file_value=base_value, changes=changes, at=at, steps=steps)
    if isinstance(found, str):
        return found
    value, after = found
    return take_up(loaded, replace(proposal, new=value, after=after, recent=None), by=AUTOMATIC, at=at)


def _unlearned(proposal: Proposal, changes: Changes) -> float:
    """The number that was in force before anything was learned."""
    own = [one for one in changes if (one.pattern, one.parameter) == (proposal.pattern, proposal.parameter)]
    return own[0].old if own else proposal.old
