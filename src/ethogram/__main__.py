"""`python -m ethogram` is `ethogram`."""

import sys

from ethogram.entry import main

if __name__ == "__main__":
    sys.exit(main())
