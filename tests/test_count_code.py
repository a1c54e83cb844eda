"""`tools/count_code.py` counts what is code, and nothing else."""

from __future__ import annotations

from pathlib import PurePosixPath

import count_code

SOURCE = '''"""A module.

Of two lines.
"""

import os  # counts


class Row:
    """A row."""

    name: str = "a"
    """Its name."""

    def query(self) -> str:
        # a comment
        return """
            SELECT 1

            FROM rows
        """
'''


def test_blank_lines_comments_and_docstrings_are_no_code():
    # import, class, name, def, return, SELECT, FROM, and the end of the text.
    assert count_code.count_python(SOURCE) == 8


def test_sql_and_templates_count_by_folder_and_data_does_not():
    files = {
        "store/tables.sql": "CREATE TABLE rows (\n\n  name TEXT\n);\n",
        "report/templates/text/row.txt": "{{ name }}\n",
        "data/words.txt": "one\ntwo\n",
        "errors.py": "A = 1\n",
    }
    named = ((count_code.PACKAGE / PurePosixPath(name), text.encode()) for name, text in files.items())
    assert count_code.count_files(named) == {"store": 3, "report": 1, "(top)": 1}
