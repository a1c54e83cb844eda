"""Version 4: who looked at whom, in a store that keeps people under other names."""

from __future__ import annotations

STATEMENTS = (
    """CREATE TABLE looks (
      key INTEGER PRIMARY KEY,
      at_us INTEGER NOT NULL,
      what TEXT NOT NULL,
      person TEXT,
      who TEXT NOT NULL,
      why TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX looks_by_person ON looks (person)",
)
