"""The command line: one file per group of commands, listed in main.py and imported when one of them runs."""

from __future__ import annotations
