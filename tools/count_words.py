"""Counts in how many texts each word stands, and writes src/ethogram/data/chat/frequencies.txt.

Read are texts that come with free software, one document each: docstrings of the Python standard library
(one document per module), its language topics, manual pages (sections 1, 5, 7, 8; none of vendors' cloud
tools), README files of installed packages, the pages of the Rust book, and the one-line descriptions in the
package index. Only counts are kept; counts are facts. No data set of conversations is read.

    python tools/count_words.py
"""

from __future__ import annotations

import ast
import gzip
import html
import re
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

from ethogram.chat.words import tokens

KEPT = 9000
LONGEST = 60_000


def standard_library() -> Iterator[str]:
    yield from topics.values()
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        yield "\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds))


def manual_pages() -> Iterator[str]:
    for section in "1578":
        for path in sorted(Path(f"/usr/share/man/man{section}").glob("*.gz")):
            if not path.name.startswith(("gcloud", "kubectl", "bq")):
                text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
                yield re.sub(r"\\f.|\\[-&e]|^\.[A-Za-z]+", " ", text, flags=re.M)


def readmes() -> Iterator[str]:
    for path in sorted(Path("/usr/share/doc").glob("*/README*")):
        if path.is_file():
            raw = path.read_bytes()
            yield (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")


def rust_book() -> Iterator[str]:
    for path in sorted((Path.home() / ".rustup").glob("toolchains/*/share/doc/rust/html/book/ch*.html")):
        yield html.unescape(re.sub(r"<pre>.*?</pre>|<[^>]+>", " ", path.read_text("utf-8"), flags=re.S))


def descriptions() -> Iterator[str]:
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=False).stdout
    lines = sorted({line[13:] for line in listed.splitlines() if line.startswith("Description: ")})
    # A line is too short for a document: ten make one.
    for at in range(0, len(lines), 10):
        yield "\n".join(lines[at : at + 10])


def main() -> None:
    counts: Counter[str] = Counter()
    total = 0
    for source in (standard_library, manual_pages, readmes, rust_book, descriptions):
        before = total
        for text in source():
            counts.update({word for word in tokens(text[:LONGEST]) if 2 <= len(word) <= 20})
            total += 1
        print(f"{source.__name__}: {total - before} documents", file=sys.stderr)
    kept = [(word, n) for word, n in counts.most_common() if n >= 3][:KEPT]
    lines = [f"{word} {n}" for word, n in sorted(kept)]
    path = Path(__file__).parents[1] / "src" / "ethogram" / "data" / "chat" / "frequencies.txt"
    head = "# In how many texts each word stands; made by tools/count_words.py, which says of what texts.\n"
    path.write_text(f"{head}documents: {total}\n" + "\n".join(lines) + "\n")
    print(f"{len(kept)} words of {total} documents", file=sys.stderr)


if __name__ == "__main__":
    main()
