"""
Write docs/reference/columns.md from the declarations of the source's columns.

    python -m docs.generate_columns           writes the page
    python -m docs.generate_columns --check   shows how the page differs from the declarations, and exits with 1
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from docs.generate_options import render_rows, update
from kinesis_core.reading import COLUMNS, DEFAULT_COLUMNS, Column

PAGE = Path(__file__).parent / "reference" / "columns.md"
INTRODUCTION = """\
# Columns

<!-- Made by docs/generate_columns.py from the declarations of the columns. Change these, and run it again. -->

## Columns of the source

A source without a schema has these columns, in this order:

"""
MORE = """
A schema may also ask for these columns:

"""
USE = """
* In Spark every column is nullable. The column *null* says whether Kinesis or a producer may leave the value out.
* If the records of several streams are read, `streamName` tells them apart.
* A record that a producer aggregated (KPL) is one row for each user record in it. With the option `deaggregate` set to `false` it
  is one row, and its `data` is the aggregate.

## Ask for columns

Name the columns that you want in `.schema(...)`, in any order. Types must be those of the tables, and `NOT NULL` is refused.

```python
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
orders = (
    spark.read.format("kinesis")
    .option("streamName", "orders")
    .schema("data binary, shardId string, sequenceNumber string, subSequenceNumber long")
    .load()
)
orders.show(3)
```

`all_columns()` is a schema with every column:

```python
from spark_kinesis_source import all_columns

spark.read.format("kinesis").option("streamName", "orders").schema(all_columns()).load().printSchema()
spark.stop()
```

With a schema, Spark calls nothing of the source at `load()`. So a wrong option or a missing stream is an error when the query starts.

| you want to | ask for |
| --- | --- |
| write each record once, to a sink that replaces rows with the same key | `shardId`, `sequenceNumber`, `subSequenceNumber`: together they identify a row in a stream; with several streams, also `stream` |
| sort the records of a shard | `sequenceNumber`, `subSequenceNumber`. Sort by `length(sequenceNumber)` first: the number is text, and too long for a decimal of Spark |
| window by time | `approximateArrivalTimestamp`, or better a time in `data`: the arrival time is neither exact nor increasing |
| join or group by key | `partitionKey` |
| read streams of several accounts or regions by ARN | `stream` |
| find out how far a query is behind | `millisBehindLatest` |
| write the rows to another stream with the same hash keys | `explicitHashKey` |

## Cost

* A column that the schema does not name is not built, and Spark does not copy it. Kinesis always returns whole records, so fewer
  columns do not make a read from Kinesis faster.
* `data`, `partitionKey` and `sequenceNumber` have a value of their own for each record, and take the most memory. `sequenceNumber`
  takes 56 bytes.
* `streamName`, `stream`, `shardId` and `millisBehindLatest` are the same for a whole page of records, and cost little.
* Without `data` and with `deaggregate` set to `false`, data are not decoded.

## Columns of the sink

| column | type | required | meaning |
| --- | --- | --- | --- |
| `data` | string or binary | yes | The content of the record. Text is written as UTF-8. A null is an error, because Kinesis has no null. |
| `partitionKey` | string or binary | no | Rows with the same key go to the same shard; 1 to 256 characters. Without it, or if it is null, a random key spreads rows over the shards. Kinesis [may ignore it](../howto/writing.md#streams-that-distribute-their-records-themselves). |
| `explicitHashKey` | string | no | A decimal number from 0 to 2^128-1 that chooses the shard instead of the partition key; may be null. |
| `streamName` | string | if no option names the stream | The stream that the row goes to. |

Other columns are not written. [Write from Spark](../howto/writing.md#columns) has the details.
"""


def render(default: Iterable[Column], more: Iterable[Column]) -> str:
    """Return the page for the columns of the source."""
    lines = [INTRODUCTION.rstrip("\n"), "", *_render_columns(default)]
    lines += [MORE.rstrip("\n"), "", *_render_columns(more)]
    return "\n".join(lines) + "\n" + USE


def _render_columns(columns: Iterable[Column]) -> list[str]:
    rows = (
        (f"`{column.name}`", column.kind.value, "may be null" if column.nullable else "never", column.meaning)
        for column in columns
    )
    return render_rows(("column", "type", "null", "meaning"), rows)


if __name__ == "__main__":
    more = [column for column in COLUMNS.values() if column not in DEFAULT_COLUMNS]
    sys.exit(update(PAGE, render(DEFAULT_COLUMNS, more), sys.argv[1:]))
