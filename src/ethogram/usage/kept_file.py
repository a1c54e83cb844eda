"""The file behind a usage store: opened, its keys checked, and its transactions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from ..errors import BadUsage
from ..files import telling
from .audit import WHATS
from .coarse import Keeping
from .kept_schema import PURPOSE, check_file, connect, make_file, prepare
from .pseudonym import Keys, read_keys, waiting_file
from .summary import Summary

STATE = "first, newest, events, ahead, zoned, stretches, days"
PERSON = f"key, {STATE}, ids, due, name"
RETENTION = 90 * 86_400
"""Seconds that are kept where nobody says otherwise."""


class KeptFile:
    """A file, and how it is read and written. `exact` and `retention` are its own where they are not given.

    `at` and `who` stand in the audit where the keys are wrong.
    """

    def __init__(
        self,
        path: str | Path,
        keys: Keys,
        *,
        key_file: Path | None = None,
        exact: bool | None = None,
        retention: int | None = None,
        create: bool = True,
        at: float = 0.0,
        who: str = "",
    ) -> None:
        self.path, self.keys, self.key_file = Path(path), keys, key_file
        self._lock = RLock()
        self._raw: sqlite3.Connection | None = None
        self._pid = 0
        self._salt: bytes | None = None
        self.is_stale = False  # whether there is something to let go of, however little time has passed
        self._left: list[sqlite3.Connection | None] = []
        check_file(self.path, create=create)
        make_file(self.path)
        self.keeping = Keeping(retention or RETENTION, exact is not False)
        try:
            with telling(self.path), self._lock:
                self._make()
                self._check_opener(at, who)
                with self._writing():
                    self.keeping = self._settled(exact, retention)
        except BaseException:
            # So that no log is left beside a file that is not used.
            self.close()
            raise

    def _make(self) -> None:
        raw = self._connection()
        raw.execute("BEGIN IMMEDIATE")
        try:
            keeping = self.keeping
            prepare(raw, self.path, self.keys, exact=keeping.exact, retention=keeping.retention)
            (self._salt,) = raw.execute("SELECT salt FROM about").fetchone()
            self.keys = self._scoped(self.keys)
        except BaseException:
            raw.execute("ROLLBACK")
            raise
        raw.execute("COMMIT")

    def _scoped(self, keys: Keys) -> Keys:
        return keys.scoped(PURPOSE, self._salt)

    def _settled(self, exact: bool | None, retention: int | None) -> Keeping:
        raw = self._connection()
        was_exact, was_retention = raw.execute("SELECT exact, retention FROM about").fetchone()
        if exact is not None and exact != bool(was_exact):
            words = ("aggregates", "events")
            raise BadUsage(f"{self.path} keeps {words[was_exact]}, not {words[exact]}; name another file")
        if retention is not None and retention != was_retention:
            raw.execute("UPDATE about SET retention = ?", (retention,))
            raw.execute("UPDATE people SET due = 0")
            self.is_stale = True
        return Keeping(was_retention if retention is None else retention, bool(was_exact))

    def _connection(self) -> sqlite3.Connection:
        # After a fork the parent's connection must not be touched.
        if self._raw is None or self._pid != os.getpid():
            # Nor closed: it is the parent's, and closing it here would be of no use to anybody.
            self._left.append(self._raw)
            self._raw, self._pid = connect(self.path), os.getpid()
        return self._raw

    def begin_anew(self) -> None:
        """In a forked child: wait for no lock of the parent's."""
        self._lock = RLock()

    def _check_keys(self) -> None:
        """Nothing, where the keys are the file's; read anew where a key was added. BadUsage where neither."""
        (check,) = self._connection().execute("SELECT key_check FROM about").fetchone()
        if check == self.keys.check():
            return
        newest = self.keys
        if self.key_file is not None:
            # A store has its new names before the new keys are in the place of the old ones.
            waiting = waiting_file(self.key_file)
            for file in (waiting, self.key_file) if waiting.exists() else (self.key_file,):
                try:
                    newest = self._scoped(read_keys(file))
                except BadUsage:
                    if file is self.key_file:
                        raise
                if newest.check() == check:
                    self.keys = newest
                    return
        if newest.until(check) is not None:
            how = f"run `ethogram usage key rotate {self.key_file or 'FILE'} --store {self.path}`"
            raise BadUsage(f"{self.path}: this store has an older key of this file; {how}")
        how = "give the key that it was made with"
        raise BadUsage(f"{self.path}: the key is not that of this store; {how}")

    def _check_opener(self, at: float, who: str) -> None:
        """Nothing, where the keys are the file's; else a line in the audit, and BadUsage."""
        try:
            self._check_keys()
        except BadUsage:
            line = "INSERT INTO audit (at, what, person, who, why) VALUES (?, ?, NULL, ?, '')"
            self._connection().execute(line, (int(at * 1_000_000), WHATS.index("refused"), who))
            raise

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, with the keys that the file has now. Kept once the block ends."""
        with self._lock, telling(self.path):
            raw = self._connection()
            raw.execute("BEGIN IMMEDIATE")
            try:
                self._check_keys()
                yield raw
                raw.execute("COMMIT")
            except BaseException:
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._raw is not None and self._pid == os.getpid():
                self._raw.close()
            self._raw = None


def columns_of(state: Summary) -> tuple[object, ...]:
    """The values of STATE."""
    return (
        state.first, state.newest, state.events, state.ahead, int(state.zoned), state.stretches, state.days
    )  # fmt: skip


def person_of(row: Sequence[object]) -> tuple[int, Summary, bytes, int]:
    """Key, summary, ids and due of a row."""
    key, first, newest, events, ahead, zoned, stretches, days, ids, when, *_ = row
    state = Summary(first, newest, events, ahead, bool(zoned), stretches, days)  # type: ignore[arg-type]
    return key, state, ids, when  # type: ignore[return-value]
