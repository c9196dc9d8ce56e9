"""Rows of Arrow and Parquet become records with their keys and arrival times."""

from __future__ import annotations

from typing import Any

from kinesis_cli.ending import CommandError
from kinesis_cli.putting import Rows
from kinesis_cli.replaying.recorded import Recorded


def recorded_rows(batch: Any, name: str, number: int) -> Recorded:
    """
    Return the records of *batch*, a `pyarrow.RecordBatch` of the file *name*, of which the first has *number*.

    Rows without data are among the refused ones.

    Raises:
        CommandError: It has no column `data`, or values of a column are not what it is for.
    """
    import pyarrow as pa

    if "data" not in batch.schema.names:
        raise CommandError(f"{name} has no column 'data'. Its columns: {', '.join(batch.schema.names)}.")
    cells = {
        column: _cast(batch, column, kind, name, number)
        for column, kind in (
            ("data", pa.binary()),
            ("partitionKey", pa.string()),
            ("explicitHashKey", pa.string()),
            ("approximateArrivalTimestamp", pa.timestamp("ms", "UTC")),
        )
    }
    is_there = cells["data"].is_valid()
    refused = {number + index: "has no data" for index, found in enumerate(is_there.to_pylist()) if not found}
    data, keys, hash_keys, times = (cells[column].filter(is_there) for column in cells)
    numbers = [one for one in range(number, number + batch.num_rows) if one not in refused]
    rows = Rows(name, numbers, data.to_pylist(), refused, 0, keys.to_pylist(), hash_keys.to_pylist())
    return Recorded(rows, times.cast(pa.int64()).to_pylist())


def _cast(batch: Any, column: str, kind: Any, name: str, number: int) -> Any:
    import pyarrow as pa

    if column not in batch.schema.names:
        return pa.nulls(batch.num_rows, kind)
    try:
        return batch.column(column).cast(kind, safe=False)
    except pa.ArrowException as error:
        raise CommandError(
            f"{name} has values in its column '{column}', in the records {number} to {number + batch.num_rows - 1}, "
            f"that are no {kind}: {str(error).rstrip('.')}. Correct the file."
        ) from error
