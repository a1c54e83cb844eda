"""What a store holds: the kinds of rows, their columns and keys.

Rows are tuples in the order of the columns. Times are microseconds since 1970, UTC; JSON is text. Subjects
and sources are known by their names, whatever a database has in their place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Row = tuple[Any, ...]


class Kind(NamedTuple):
    """A kind of rows: `columns` with their types in Python, and the `key` by which a row is known.

    A column in `optional` may be None. Rows that are not `portable` are about work under way: no copy of a
    store has them.
    """

    name: str
    columns: dict[str, type]
    key: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    portable: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.columns)


def _kind(name: str, columns: str, *, portable: bool = True) -> Kind:
    """The kind that a text names: `*key column:int column?`; texts unless said."""
    types: dict[str, type] = {"int": int, "float": float, "bytes": bytes, "": str}
    found: dict[str, type] = {}
    key, optional = [], []
    for word in columns.split():
        column, _, kind = word.strip("*?").partition(":")
        found[column] = types[kind]
        if word.startswith("*"):
            key.append(column)
        if word.endswith("?"):
            optional.append(column)
    return Kind(name, found, tuple(key), frozenset(optional), portable)


EVENT = """id content:bytes at_us:int seq:int timed:int received_us:int? target? thread? session? reply_to?
  kind text? attributes? readings?"""
EVENT_FIELDS = tuple(word.partition(":")[0].strip("?") for word in EVENT.split())
"""The columns of an event but its number, source and subject, as `rows.event_values` gives them."""
_KINDS = (
    _kind("meta", "*name value:int"),
    _kind("sources", "*name timed:int next_seq:int kinds"),
    _kind("subjects", "*source *name events:int first_us:int last_us:int changed:int"),
    # `key` is the number in which events arrived, never given twice; (source, id) is unique too.
    _kind("events", f"*key:int source subject {EVENT}"),
    # Readings that were added to an event; those that it came with are in its row. They go with the event.
    _kind("readings", "*event:int *signal number:float? text? *scorer width:int?"),
    _kind("imports", "*number:int key begun_us:int staged:int repeated:int state", portable=False),
    # Pieces of events that nobody sees yet; see imports.py.
    _kind("staged", "*import:int *n:int events:int keys:bytes data:bytes", portable=False),
    _kind("files", "*options *hash events:int imported_us:int"),
    _kind(
        "detections",
        """*id pattern version state status part:int source subject target? thread? severity confidence:float
        opened_us:int detected_us:int closed_us:int? record""",
    ),
    _kind(
        "changes",
        "*key:int detection change as_of_us:int state severity version confidence:float told:int",
    ),
    _kind(
        "verdicts",
        """*key:int verdict judge at_us:int pattern version detection? subject? first_event? last_event? why
        source blind:int""",
    ),
    _kind("verdict_counts", "*pattern *version *source *month *percent:int *verdict count:int"),
    _kind("settled", "*detection *pattern *source *subject *first_event *last_event verdict"),
    _kind("tries", "*key:int at_us:int pattern version data record"),
    _kind(
        "sweeps",
        "*selection versions as_of_us:int finished_us:int changed:int? min_events:int?",
    ),
    _kind("swept", "*selection *source *subject versions changed:int as_of_us:int due_us:int?"),
    _kind("runner_states", "*name *key saved_us:int state:bytes subject?"),
    # People under pseudonyms: summaries of how they use a service, single events where these may be kept, and
    # what was reported. Times of these three are in seconds; see usage/summary.py.
    _kind(
        "people",
        """*name first:int newest:int events:int ahead:int zoned:int stretches:bytes days:bytes ids:bytes
        due:int""",
    ),
    _kind("uses", "*key:int person at:int length:int? flags:int session? ahead:int? id?"),
    _kind("reported", "*person *signal:int *opened:int severity:int last:int"),
    _kind("looks", "*key:int at_us:int what person? who why"),
    _kind("notes", "*kind *key at_us:int record"),
    _kind("locks", "*name token pid:int started host begun_us:int beat_us:int", portable=False),
)
KINDS = {kind.name: kind for kind in _KINDS}
"""Every kind by name, in the order in which a copy writes them."""
