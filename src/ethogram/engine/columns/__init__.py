"""The columnar runner: whole inputs as columns, conditions as masks, Python only where something fires.

Nothing here is imported before it is used, so that a command that does not run it never loads NumPy.
"""

from __future__ import annotations
