"""Version 5: whose a state is, so that it goes with its subject and is told to it."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE runner_states ADD COLUMN subject TEXT",
    "CREATE INDEX runner_states_by_subject ON runner_states (subject)",
)
