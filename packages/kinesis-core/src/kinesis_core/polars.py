"""
Kinesis as a source of Polars. The only module that needs polars: `pip install 'kinesis-core[polars]'`.

    import polars as pl
    from kinesis_core import Stream
    from kinesis_core.polars import scan_kinesis

    orders = scan_kinesis(Stream.open("orders"))
    print(orders.filter(pl.col("partitionKey") == "tea").select("data").collect())
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import evolve

from kinesis_core.model import EndingPosition
from kinesis_core.planning import Comparison, Wanted
from kinesis_core.reading import DEFAULT_COLUMNS
from kinesis_core.stream import Start, Stream

try:
    import polars as pl
    from polars.io.plugins import register_io_source

    from kinesis_core.reading.arrow import BatchBuilder
except ModuleNotFoundError as error:
    if error.name not in {"polars", "pyarrow"}:
        raise
    raise ModuleNotFoundError(
        f"kinesis_core.polars needs {error.name}: pip install 'kinesis-core[polars]'", name=error.name
    ) from error

__all__ = ["scan_kinesis"]

_COLUMN_NAMES = tuple(column.name for column in DEFAULT_COLUMNS)


def scan_kinesis(
    stream: Stream,
    start: Start = "TRIM_HORIZON",
    end: str | EndingPosition = "LATEST",
    *,
    columns: Sequence[str] = _COLUMN_NAMES,
    deaggregate: bool = True,
) -> pl.LazyFrame:
    """
    Return the records from *start* to *end* as a lazy frame. They are read when the frame is collected, page by page.

    *start* and *end* are those of `Stream.read`, and mean the moment when the frame is collected. So each `collect` reads up to a
    new tip, and so may each place of a query that names the frame. *columns* and *deaggregate* are those of `Batch.record_batches`. Records come in the order of `Batch.records`.

    Polars passes on what the query needs, and less is read:

    * Columns that it does not need are not built.
    * Conditions on `approximateArrivalTimestamp` move start and end, and those on `shardId` and `streamName` leave shards out:
      comparisons with a value, `is_between` and `is_in`, joined by `&`. Arrival times are not exact, so the read is a minute wider
      on both sides, and the conditions are applied to each record.
    * `head(n)` directly on the frame ends the read after *n* records.

    A condition decides nothing about expired records: if records since its time may have expired, reading begins at *start*.

    Raises:
        OptionError: A column is unknown or repeated, or *columns* is empty.

    `collect` raises the errors of `Stream.read` and `Batch.records`.
    """

    def frames(
        projected: list[str] | None, predicate: pl.Expr | None, limit: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        # With both, Polars takes the first rows and applies the predicate to them.
        wanted = Wanted() if predicate is None or limit is not None else wanted_by(predicate)
        if wanted.is_nothing or limit == 0:
            return
        batch = _asking_for(limit, stream)._read(start, end, wanted)
        for part in batch.record_batches(projected or columns, deaggregate=deaggregate):
            frame = pl.DataFrame(part)
            if limit is not None:
                frame = frame.head(limit)
                limit -= frame.height
            yield frame if predicate is None else frame.filter(predicate)
            if limit == 0:
                return

    schema = pl.DataFrame(BatchBuilder(columns).schema.empty_table()).schema
    return register_io_source(frames, schema=schema, is_pure=True)


def _asking_for(limit: int | None, stream: Stream) -> Stream:
    """Return *stream* with settings that request no more than *limit* records in a call."""
    settings = stream._read_settings
    most = settings.max_records_per_fetch if limit is None else min(settings.max_records_per_fetch, limit)
    return evolve(stream, read_settings=evolve(settings, max_records_per_fetch=most))


def wanted_by(predicate: pl.Expr) -> Wanted:
    """
    Return what *predicate* says about where its records are. Parts of other forms and columns say nothing.

    Polars has no stable form of an expression to look into. But it returns the inputs of an expression, and compares expressions.
    So a form is known if the same form of the same inputs is equal to it.
    """
    wanted, conditions = Wanted(), [predicate]
    while conditions:
        each = conditions.pop()
        inputs = each.meta.pop()[::-1]
        match inputs:
            case [left, right] if (left & right).meta.eq(each):
                conditions += inputs
            case [column, *literals] if column.meta.is_column() and all(
                e.meta.is_literal() for e in literals
            ):
                for comparison, values in _comparisons(each, column, literals):
                    wanted = wanted.narrowed(column.meta.output_name(), comparison, values)
    return wanted


_COMPARED: tuple[tuple[Comparison, Callable[[Any, Any], Any]], ...] = (
    (Comparison.EQUAL, operator.eq),
    (Comparison.GREATER, operator.gt),
    (Comparison.GREATER_OR_EQUAL, operator.ge),
    (Comparison.LESS, operator.lt),
    (Comparison.LESS_OR_EQUAL, operator.le),
)
_BETWEEN: tuple[tuple[Any, Comparison, Comparison], ...] = (
    ("both", Comparison.GREATER_OR_EQUAL, Comparison.LESS_OR_EQUAL),
    ("left", Comparison.GREATER_OR_EQUAL, Comparison.LESS),
    ("right", Comparison.GREATER, Comparison.LESS_OR_EQUAL),
    ("none", Comparison.GREATER, Comparison.LESS),
)


def _comparisons(
    condition: pl.Expr, column: pl.Expr, literals: Sequence[pl.Expr]
) -> Iterator[tuple[Comparison, list[Any]]]:
    """Yield the comparisons with values that *condition* is, if it is one of these forms."""
    match literals:
        case [value]:
            for comparison, compare in _COMPARED:
                if compare(column, value).meta.eq(condition) and len(values := _values(value)) == 1:
                    yield comparison, values
            if column.is_in(value).meta.eq(condition):
                yield Comparison.EQUAL, _values(value)
        case [first, last]:
            for closed, since, until in _BETWEEN:
                if column.is_between(first, last, closed=closed).meta.eq(condition):
                    yield since, _values(first)
                    yield until, _values(last)


def _values(literal: pl.Expr) -> list[Any]:
    """Return the value of *literal*, or the values of its list."""
    values = pl.select(literal).to_series()
    found: list[Any] = (values.explode() if values.dtype == pl.List else values).to_list()
    return found
