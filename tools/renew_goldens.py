"""Writes the goldens of tests/goldens anew, and prints how they differ from those before.

    python tools/renew_goldens.py                 all
    python tools/renew_goldens.py stores.txt      this one

Read the differences before you commit them: each is a change that users or their stores notice.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)]
    with tempfile.TemporaryDirectory() as folder:
        # As in the tests: nothing of whoever runs this is read or written.
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "ETHOGRAM_HOOK_DIR"):
            os.environ[name] = f"{folder}/{name.lower()}"
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from golden_text import renew
        from goldens.makers import FOLDER, GOLDENS

        parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
        parser.add_argument("names", nargs="*", metavar="NAME", help="renew these (default: all)")
        for name in parser.parse_args().names or GOLDENS:
            work = Path(folder, "work", name)
            work.mkdir(parents=True)
            renew(FOLDER / name, GOLDENS[name](work.resolve()))


if __name__ == "__main__":
    main()
