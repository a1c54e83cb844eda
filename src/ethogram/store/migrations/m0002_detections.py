"""Version 2: detections with every change they went through, and verdicts on them."""

from __future__ import annotations

STATEMENTS = (
    """CREATE TABLE detections (
      id TEXT PRIMARY KEY,
      pattern TEXT NOT NULL,
      version TEXT NOT NULL,
      state TEXT NOT NULL,
      status TEXT NOT NULL,
      part INTEGER NOT NULL,
      source TEXT NOT NULL,
      subject TEXT NOT NULL,
      target TEXT,
      thread TEXT,
      level TEXT NOT NULL,
      confidence REAL NOT NULL,
      opened_us INTEGER NOT NULL,
      detected_us INTEGER NOT NULL,
      closed_us INTEGER,
      record TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX detections_by_subject ON detections (source, subject)",
    "CREATE INDEX detections_by_pattern ON detections (pattern, source)",
    """CREATE TABLE changes (
      key INTEGER PRIMARY KEY AUTOINCREMENT,
      detection TEXT NOT NULL REFERENCES detections (id) ON DELETE CASCADE,
      change TEXT NOT NULL,
      as_of_us INTEGER NOT NULL,
      state TEXT NOT NULL,
      level TEXT NOT NULL,
      version TEXT NOT NULL,
      confidence REAL NOT NULL,
      told INTEGER NOT NULL
    ) STRICT""",
    "CREATE INDEX changes_by_detection ON changes (detection)",
    "CREATE INDEX changes_untold ON changes (key) WHERE told = 0",
    """CREATE TABLE verdicts (
      key INTEGER PRIMARY KEY,
      verdict TEXT NOT NULL,
      judge TEXT NOT NULL,
      at_us INTEGER NOT NULL,
      pattern TEXT NOT NULL,
      version TEXT NOT NULL,
      detection TEXT,
      subject TEXT,
      first_event TEXT,
      last_event TEXT,
      why TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX verdicts_by_detection ON verdicts (detection)",
)
