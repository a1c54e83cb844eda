"""`python -m benchmarks`: speed and quality, measured from a clone of the repository."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ethogram.cli.help import Group
from ethogram.cli.main import run

SPEED = ("instructions", "scale", "service", "store")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one benchmark; exit codes and errors are those of `ethogram`."""
    args = list(sys.argv[1:] if argv is None else argv)
    # `speed store` is a part of `speed`, which measures the page of performance without one.
    part = args[0] == "speed" and args[1] in SPEED if len(args) > 1 else False
    return run(build_app, "python -m benchmarks", args[1:] if part else args)


def build_app() -> Group:
    """Both groups of commands."""
    from benchmarks.quality import commands as quality
    from benchmarks.quality.lexicon import lexicon
    from benchmarks.speed import commands as speed
    from benchmarks.speed.instructions import instructions
    from benchmarks.speed.scale import scale
    from benchmarks.speed.service import service
    from benchmarks.speed.stores import stores

    return Group(
        "Measure how fast ethogram is and how often it is right.",
        speed=speed.speed,
        instructions=instructions,
        scale=scale,
        service=service,
        store=stores,
        quality=Group(
            "How often detections are right, and how many are found.",
            runs=quality.runs,
            usage=quality.usage,
            conversations=quality.conversations,
            left_out=quality.left_out,
            lexicon=lexicon,
            planted=quality.planted,
            lift=quality.lift,
            simulate=quality.simulate,
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
