"""Stores: where events, readings, detections, verdicts and states are kept between runs.

To keep them somewhere else, add one file here with a class under `@store("its name")` (see protocol.py); it
is found by the part of its URL before `://`, and tests/contracts/test_store_contract.py runs on it.
Importing a store brings in SQLAlchemy, which takes a quarter of a second: only commands that use one do.
"""

from __future__ import annotations

from .opening import open_store, store
from .protocol import Added, Change, Found, Held, Import, Info, Purged, Store, SubjectRow, Swept

__all__ = [
    "Added",
    "Change",
    "Found",
    "Held",
    "Import",
    "Info",
    "Purged",
    "Store",
    "SubjectRow",
    "Swept",
    "open_store",
    "store",
]
