"""Spark's filters: what the conditions of a query say about where its records are. Spark applies them as well."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kinesis_core.planning import Comparison, Wanted

_COMPARISONS = {
    "EqualTo": Comparison.EQUAL,
    "EqualNullSafe": Comparison.EQUAL,
    "In": Comparison.EQUAL,
    "GreaterThan": Comparison.GREATER,
    "GreaterThanOrEqual": Comparison.GREATER_OR_EQUAL,
    "LessThan": Comparison.LESS,
    "LessThanOrEqual": Comparison.LESS_OR_EQUAL,
}


def read_filters(filters: Iterable[Any]) -> Wanted:
    """Return what *filters*, all of which a row meets, say. Filters of other kinds and columns say nothing."""
    wanted = Wanted()
    for each in filters:
        comparison = _COMPARISONS.get(kind := type(each).__name__)
        column, *nested = getattr(each, "attribute", ("",))
        if comparison is None or nested or (kind == "EqualNullSafe" and each.value is None):
            continue
        wanted = wanted.narrowed(column, comparison, each.value if kind == "In" else [each.value])
    return wanted
