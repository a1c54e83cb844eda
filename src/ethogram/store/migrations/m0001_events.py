"""Version 1: events, what was measured on them, and what is on its way in."""

from __future__ import annotations

EVENT_FIELDS = """
  id TEXT NOT NULL,
  content BLOB NOT NULL,
  at_us INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  timed INTEGER NOT NULL,
  received_us INTEGER,
  target TEXT,
  thread TEXT,
  session TEXT,
  reply_to TEXT,
  kind TEXT NOT NULL,
  text TEXT,
  attributes TEXT,
  readings TEXT
"""
READING_FIELDS = """
  signal TEXT NOT NULL,
  number REAL,
  text TEXT,
  scorer TEXT NOT NULL,
  width INTEGER,
  CHECK ((number IS NULL) <> (text IS NULL))
"""
STATEMENTS = (
    "CREATE TABLE schema_version (version INTEGER PRIMARY KEY) STRICT",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    """CREATE TABLE sources (
      key INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      timed INTEGER NOT NULL,
      next_seq INTEGER NOT NULL,
      kinds TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE subjects (
      key INTEGER PRIMARY KEY,
      source INTEGER NOT NULL REFERENCES sources (key),
      name TEXT NOT NULL,
      events INTEGER NOT NULL,
      first_us INTEGER NOT NULL,
      last_us INTEGER NOT NULL,
      changed INTEGER NOT NULL,
      UNIQUE (source, name)
    ) STRICT""",
    f"""CREATE TABLE events (
      key INTEGER PRIMARY KEY,
      source INTEGER NOT NULL REFERENCES sources (key),
      subject INTEGER NOT NULL REFERENCES subjects (key),
      {EVENT_FIELDS},
      UNIQUE (source, id)
    ) STRICT""",
    "CREATE INDEX events_by_subject ON events (subject, at_us)",
    "CREATE INDEX events_by_thread ON events (source, thread) WHERE thread IS NOT NULL",
    f"""CREATE TABLE readings (
      event INTEGER NOT NULL REFERENCES events (key) ON DELETE CASCADE,
      {READING_FIELDS},
      PRIMARY KEY (event, signal, scorer)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE imports (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      key TEXT NOT NULL UNIQUE,
      begun_us INTEGER NOT NULL,
      staged INTEGER NOT NULL,
      repeated INTEGER NOT NULL,
      state TEXT NOT NULL
    ) STRICT""",
    f"""CREATE TABLE staged (
      n INTEGER PRIMARY KEY,
      import INTEGER NOT NULL,
      source TEXT NOT NULL,
      subject TEXT NOT NULL,
      file INTEGER NOT NULL,
      line INTEGER NOT NULL,
      {EVENT_FIELDS},
      UNIQUE (import, source, id)
    ) STRICT""",
    f"""CREATE TABLE staged_readings (
      n INTEGER NOT NULL REFERENCES staged (n) ON DELETE CASCADE,
      {READING_FIELDS},
      PRIMARY KEY (n, signal, scorer)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE files (
      options TEXT NOT NULL,
      hash TEXT NOT NULL,
      events INTEGER NOT NULL,
      imported_us INTEGER NOT NULL,
      PRIMARY KEY (options, hash)
    ) STRICT, WITHOUT ROWID""",
    # Readings that came with an event are in its row, since they are part of what it says, and one row is
    # written twice as fast as one for each of twelve readings; this is for whoever asks by signal.
    """CREATE VIEW all_readings AS
      SELECT event, signal, number, text, scorer, width FROM readings
      UNION ALL
      SELECT event, signal,
        CASE WHEN typeof(value) <> 'text' THEN CAST(value AS REAL) END,
        CASE WHEN typeof(value) = 'text' THEN value END,
        coalesce(scorer, 'given'), width
      FROM (
        SELECT e.key AS event, j.key AS signal,
          CASE j.type WHEN 'object' THEN json_extract(j.value, '$.value') ELSE j.value END AS value,
          CASE j.type WHEN 'object' THEN json_extract(j.value, '$.scorer') END AS scorer,
          CASE j.type WHEN 'object' THEN json_extract(j.value, '$.width') END AS width
        FROM events e, json_each(e.readings) j
      )""",
)
