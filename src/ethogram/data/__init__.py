"""Data files of the package: lexicons, exemplars, weights, tables, templates, demo histories."""

from pathlib import Path

DATA = Path(__file__).parent
"""Found by path: importlib.resources would cost 25 ms at every start."""
