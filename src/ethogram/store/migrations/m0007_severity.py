"""Version 7: `severity` is the name of what was `level`, in the columns and in the records kept as JSON."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE detections RENAME COLUMN level TO severity",
    "ALTER TABLE changes RENAME COLUMN level TO severity",
    """UPDATE detections SET record = json_remove(
      json_set(record, '$.severity', json_extract(record, '$.level')), '$.level'
    ) WHERE json_extract(record, '$.level') IS NOT NULL""",
    "UPDATE detections SET status = 'shadow' WHERE status = 'test'",
    "UPDATE detections SET record = json_set(record, '$.status', 'shadow') WHERE status = 'shadow'",
)
