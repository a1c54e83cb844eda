"""Version 6: verdicts know their source and whether they were blind; counts of them that stay; learning."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE verdicts ADD COLUMN source TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE verdicts ADD COLUMN blind INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX verdicts_by_pattern ON verdicts (pattern)",
    """CREATE TABLE verdict_counts (
      pattern TEXT NOT NULL,
      version TEXT NOT NULL,
      source TEXT NOT NULL,
      month TEXT NOT NULL,
      percent INTEGER NOT NULL,
      verdict TEXT NOT NULL,
      count INTEGER NOT NULL,
      PRIMARY KEY (pattern, version, source, month, percent, verdict)
    ) STRICT""",
    """CREATE TABLE settled (
      detection TEXT NOT NULL,
      pattern TEXT NOT NULL,
      source TEXT NOT NULL,
      subject TEXT NOT NULL,
      first_event TEXT NOT NULL,
      last_event TEXT NOT NULL,
      verdict TEXT NOT NULL,
      PRIMARY KEY (detection, pattern, source, subject, first_event, last_event)
    ) STRICT""",
    """CREATE TABLE tries (
      key INTEGER PRIMARY KEY,
      at_us INTEGER NOT NULL,
      pattern TEXT NOT NULL,
      version TEXT NOT NULL,
      data TEXT NOT NULL,
      record TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX tries_by_pattern ON tries (pattern, version)",
)
