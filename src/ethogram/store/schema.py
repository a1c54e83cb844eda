"""The tables of a store of events in SQL.

A change of the tables is one more step at the end of `SCHEMA`, never an edit of one that was released: what
that made is on people's disks.
"""

from __future__ import annotations

from ..files.sqlite import Schema

_EVENT = """id TEXT NOT NULL, content BLOB NOT NULL, at_us INTEGER NOT NULL, seq INTEGER NOT NULL,
  timed INTEGER NOT NULL, received_us INTEGER, target TEXT, thread TEXT, session TEXT, reply_to TEXT,
  kind TEXT NOT NULL, text TEXT, attributes TEXT, readings TEXT"""
_READING = """signal TEXT NOT NULL, number REAL, text TEXT, scorer TEXT NOT NULL, width INTEGER,
  CHECK ((number IS NULL) <> (text IS NULL))"""
# Readings that came with an event are in its row, since they are part of what it says, and one row is written
# twice as fast as one for each of twelve readings; the view is for whoever asks by signal.
TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE sources (
  key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, timed INTEGER NOT NULL, next_seq INTEGER NOT NULL,
  kinds TEXT NOT NULL
) STRICT;
CREATE TABLE subjects (
  key INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES sources (key), name TEXT NOT NULL,
  events INTEGER NOT NULL, first_us INTEGER NOT NULL, last_us INTEGER NOT NULL, changed INTEGER NOT NULL,
  UNIQUE (source, name)
) STRICT;
CREATE TABLE events (
  key INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES sources (key),
  subject INTEGER NOT NULL REFERENCES subjects (key), {_EVENT},
  UNIQUE (source, id)
) STRICT;
CREATE INDEX events_by_subject ON events (subject, at_us);
CREATE INDEX events_by_thread ON events (source, thread) WHERE thread IS NOT NULL;
CREATE TABLE readings (
  event INTEGER NOT NULL REFERENCES events (key) ON DELETE CASCADE, {_READING},
  PRIMARY KEY (event, signal, scorer)
) STRICT, WITHOUT ROWID;
CREATE VIEW all_readings AS
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
  );
CREATE TABLE imports (
  number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, begun_us INTEGER NOT NULL,
  staged INTEGER NOT NULL, repeated INTEGER NOT NULL, state TEXT NOT NULL
) STRICT;
CREATE TABLE staged (
  n INTEGER PRIMARY KEY, import INTEGER NOT NULL, source TEXT NOT NULL, subject TEXT NOT NULL,
  file INTEGER NOT NULL, line INTEGER NOT NULL, {_EVENT},
  UNIQUE (import, source, id)
) STRICT;
CREATE TABLE staged_readings (
  n INTEGER NOT NULL REFERENCES staged (n) ON DELETE CASCADE, {_READING},
  PRIMARY KEY (n, signal, scorer)
) STRICT, WITHOUT ROWID;
CREATE TABLE files (
  options TEXT NOT NULL, hash TEXT NOT NULL, events INTEGER NOT NULL, imported_us INTEGER NOT NULL,
  PRIMARY KEY (options, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE detections (
  id TEXT PRIMARY KEY, pattern TEXT NOT NULL, version TEXT NOT NULL, state TEXT NOT NULL,
  status TEXT NOT NULL, part INTEGER NOT NULL, source TEXT NOT NULL, subject TEXT NOT NULL, target TEXT,
  thread TEXT,
  severity TEXT NOT NULL,
  confidence REAL NOT NULL, opened_us INTEGER NOT NULL, detected_us INTEGER NOT NULL, closed_us INTEGER,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX detections_by_subject ON detections (source, subject);
CREATE INDEX detections_by_pattern ON detections (pattern, source);
CREATE TABLE changes (
  key INTEGER PRIMARY KEY AUTOINCREMENT, detection TEXT NOT NULL REFERENCES detections (id) ON DELETE CASCADE,
  change TEXT NOT NULL, as_of_us INTEGER NOT NULL, state TEXT NOT NULL,
  severity TEXT NOT NULL,
  version TEXT NOT NULL, confidence REAL NOT NULL, told INTEGER NOT NULL
) STRICT;
CREATE INDEX changes_by_detection ON changes (detection);
CREATE INDEX changes_untold ON changes (key) WHERE told = 0;
CREATE TABLE verdicts (
  key INTEGER PRIMARY KEY, verdict TEXT NOT NULL, judge TEXT NOT NULL, at_us INTEGER NOT NULL,
  pattern TEXT NOT NULL, version TEXT NOT NULL, detection TEXT, subject TEXT, first_event TEXT,
  last_event TEXT, why TEXT NOT NULL, source TEXT NOT NULL, blind INTEGER NOT NULL
) STRICT;
CREATE INDEX verdicts_by_detection ON verdicts (detection);
CREATE INDEX verdicts_by_pattern ON verdicts (pattern);
CREATE TABLE verdict_counts (
  pattern TEXT NOT NULL, version TEXT NOT NULL, source TEXT NOT NULL, month TEXT NOT NULL,
  percent INTEGER NOT NULL, verdict TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (pattern, version, source, month, percent, verdict)
) STRICT;
CREATE TABLE settled (
  detection TEXT NOT NULL, pattern TEXT NOT NULL, source TEXT NOT NULL, subject TEXT NOT NULL,
  first_event TEXT NOT NULL, last_event TEXT NOT NULL, verdict TEXT NOT NULL,
  PRIMARY KEY (detection, pattern, source, subject, first_event, last_event)
) STRICT;
CREATE TABLE tries (
  key INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, pattern TEXT NOT NULL, version TEXT NOT NULL,
  data TEXT NOT NULL, record TEXT NOT NULL
) STRICT;
CREATE INDEX tries_by_pattern ON tries (pattern, version);
CREATE TABLE sweeps (
  selection TEXT PRIMARY KEY, versions TEXT NOT NULL, as_of_us INTEGER NOT NULL, finished_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE swept (
  selection TEXT NOT NULL, subject INTEGER NOT NULL REFERENCES subjects (key) ON DELETE CASCADE,
  versions TEXT NOT NULL, changed INTEGER NOT NULL, as_of_us INTEGER NOT NULL, due_us INTEGER,
  PRIMARY KEY (selection, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX swept_by_subject ON swept (subject);
CREATE TABLE runner_states (
  name TEXT NOT NULL, key TEXT NOT NULL, saved_us INTEGER NOT NULL, state BLOB NOT NULL, subject TEXT,
  PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX runner_states_by_subject ON runner_states (subject);
CREATE TABLE locks (
  name TEXT PRIMARY KEY, token TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL, host TEXT NOT NULL,
  begun_us INTEGER NOT NULL, beat_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE looks (
  key INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, what TEXT NOT NULL, person TEXT, who TEXT NOT NULL,
  why TEXT NOT NULL
) STRICT;
CREATE INDEX looks_by_person ON looks (person);
"""
BLOCKS = """
CREATE TABLE blocks (
  number INTEGER PRIMARY KEY AUTOINCREMENT, events INTEGER NOT NULL, data BLOB NOT NULL
) STRICT;
CREATE TABLE block_subjects (
  subject INTEGER NOT NULL PRIMARY KEY REFERENCES subjects (key) ON DELETE CASCADE,
  block INTEGER NOT NULL REFERENCES blocks (number) ON DELETE CASCADE, changed INTEGER NOT NULL
) STRICT;
CREATE INDEX block_subjects_by_block ON block_subjects (block);
"""
NOTES = """
CREATE TABLE notes (
  kind TEXT NOT NULL, key TEXT NOT NULL, at_us INTEGER NOT NULL, record TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
"""
TEXTS = "CREATE INDEX events_with_text ON events (at_us) WHERE text IS NOT NULL;"
"""So that a sweep of a store without texts does not look for them in every row."""
PIECES = """
DROP TABLE staged_readings;
DROP TABLE staged;
CREATE TABLE staged (
  import INTEGER NOT NULL, n INTEGER NOT NULL, events INTEGER NOT NULL, keys BLOB NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (import, n)
) STRICT;
INSERT INTO meta (name, value) SELECT 'last_changes', seq FROM sqlite_sequence WHERE name = 'changes';
INSERT INTO meta (name, value) SELECT 'last_imports', seq FROM sqlite_sequence WHERE name = 'imports';
"""
"""Events are staged in pieces (old_staging.py makes them of what was staged), and rows numbered by `meta`."""
WATERMARKS = """
ALTER TABLE sweeps ADD COLUMN changed INTEGER;
ALTER TABLE sweeps ADD COLUMN min_events INTEGER;
CREATE INDEX subjects_by_change ON subjects (changed);
CREATE INDEX subjects_by_end ON subjects (last_us);
CREATE INDEX swept_by_due ON swept (selection, due_us) WHERE due_us IS NOT NULL;
"""
"""A sweep looks up who changed since the last one, in place of comparing everybody with a row of `swept`."""
PEOPLE = """
CREATE TABLE people (
  name TEXT PRIMARY KEY, first INTEGER NOT NULL, newest INTEGER NOT NULL, events INTEGER NOT NULL,
  ahead INTEGER NOT NULL, zoned INTEGER NOT NULL, stretches BLOB NOT NULL, days BLOB NOT NULL,
  ids BLOB NOT NULL, due INTEGER NOT NULL
) STRICT;
CREATE INDEX people_by_due ON people (due);
CREATE INDEX people_by_newest ON people (newest);
CREATE TABLE uses (
  key INTEGER PRIMARY KEY, person TEXT NOT NULL, at INTEGER NOT NULL, length INTEGER, flags INTEGER NOT NULL,
  session TEXT, ahead INTEGER, id TEXT
) STRICT;
CREATE INDEX uses_by_person ON uses (person, at);
CREATE INDEX uses_by_at ON uses (at);
CREATE INDEX uses_by_id ON uses (id) WHERE id IS NOT NULL;
CREATE TABLE reported (
  person TEXT NOT NULL, signal INTEGER NOT NULL, opened INTEGER NOT NULL, severity INTEGER NOT NULL,
  last INTEGER NOT NULL,
  PRIMARY KEY (person, signal, opened)
) STRICT, WITHOUT ROWID;
"""
"""People of the usage tracker, whose own files these tables replace."""
SCHEMA = Schema(0x6574686F, (TABLES, BLOCKS, NOTES, TEXTS, PIECES, WATERMARKS, PEOPLE))
