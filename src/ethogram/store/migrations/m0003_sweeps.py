"""Version 3: how far sweeps have come, states of runners, and who is at work."""

from __future__ import annotations

STATEMENTS = (
    """CREATE TABLE sweeps (
      selection TEXT PRIMARY KEY,
      versions TEXT NOT NULL,
      as_of_us INTEGER NOT NULL,
      finished_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE swept (
      selection TEXT NOT NULL,
      subject INTEGER NOT NULL REFERENCES subjects (key) ON DELETE CASCADE,
      versions TEXT NOT NULL,
      changed INTEGER NOT NULL,
      as_of_us INTEGER NOT NULL,
      due_us INTEGER,
      PRIMARY KEY (selection, subject)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX swept_by_subject ON swept (subject)",
    """CREATE TABLE runner_states (
      name TEXT NOT NULL,
      key TEXT NOT NULL,
      saved_us INTEGER NOT NULL,
      state BLOB NOT NULL,
      PRIMARY KEY (name, key)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE locks (
      name TEXT PRIMARY KEY,
      token TEXT NOT NULL,
      pid INTEGER NOT NULL,
      started TEXT NOT NULL,
      host TEXT NOT NULL,
      begun_us INTEGER NOT NULL,
      beat_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
)
