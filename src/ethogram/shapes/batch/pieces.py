"""Small things done to computed columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .columns import Floats, Ints, Mask, Values
from .numbers import ULP, Num


def as_floats(values: list[Any]) -> Floats:
    """Python numbers as floats, anything else as NaN."""
    plain = [x if isinstance(x, (int, float)) and not isinstance(x, bool) else np.nan for x in values]
    return np.array(plain, np.float64)


def step_mean(values: Floats, exact: bool) -> Num:
    """The mean of the known values of each column."""
    known = values == values
    n = known.sum(axis=0)
    if exact:
        each = [column[column == column].tolist() for column in values.T]
        return Num(np.array([math.fsum(one) / len(one) if one else np.nan for one in each]))
    x = np.where(known, values, 0.0).sum(axis=0) / np.where(n > 0, n, np.nan)
    return Num(x, ULP * (len(values) + 1) * float(np.nanmax(np.abs(values), initial=0.0)))


def only_where(kept: Mask, values: Values) -> Values:
    num = None if values.num is None else np.where(kept, values.num, np.nan)
    return Values(num, None if values.code is None else np.where(kept, values.code, -1))


def gather(found: Any, rows: Ints) -> Any:
    if isinstance(found, Num):
        x = found.x if isinstance(found.x, float) else found.x[rows]
        return Num(x, found.err, None if found.doubt is None else found.doubt[rows])
    return found.at(rows) if isinstance(found, Values) else found[rows]


def first_known(first: Values, other: Values, size: int) -> Values:
    known = first.present(size)
    nums = [np.full(size, np.nan) if one.num is None else one.num for one in (first, other)]
    codes = [np.full(size, -1, np.int32) if one.code is None else one.code for one in (first, other)]
    return Values(np.where(known, *nums), np.where(known, *codes))
