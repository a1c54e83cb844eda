"""How many of many cases a test looks at, and many quick checks of one kind as one test."""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]
IS_LONG = os.environ.get("ETHOGRAM_TESTS") == "long"


def seeds(short: int, long: int) -> range:
    """The seeds of random cases: the first few in `make test`, all in `make test-long`."""
    return range(long if IS_LONG else short)


def for_each(name: str, values: Iterable[Any]) -> Callable[[Test], Test]:
    """Run the test with every value of an argument, and report all values it fails for.

    Like `pytest.mark.parametrize`, for hundreds of values that take a moment each: to set up and report a
    test of its own takes longer than to run it. Other arguments, and fixtures, are the same for all values.
    """
    arguments = list(values)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def with_all(**others: Any) -> None:
            assert arguments, f"no value of {name} to check"
            failures: list[str] = []
            for value in arguments:
                try:
                    test(**others, **{name: value})
                except Exception as error:
                    trace = "".join(traceback.format_exception(error))
                    failures.append(f"{name} = {value!r:.1000}\n{trace}")
            if failures:
                count = f"fails for {len(failures)} of {len(arguments)} values of {name}"
                pytest.fail("\n".join([count, *failures]), pytrace=False)

        signature = inspect.signature(test)
        others = [parameter for parameter in signature.parameters.values() if parameter.name != name]
        with_all.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return with_all

    return decorate
