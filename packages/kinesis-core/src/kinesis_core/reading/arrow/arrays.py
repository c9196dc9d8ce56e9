"""
Arrow arrays from Python values, for short ones without pandas.

`pyarrow.array` and `pyarrow.scalar` import pandas, if it is installed, to learn whether they were given something of pandas. In a
new worker that takes 150 ms of CPU, and `pyarrow.compute` takes 40 ms more. All other work of a task for one record takes as
long. So arrays of up to `FEW` values are made from their buffers. For longer ones `pyarrow.array` takes less time per value.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa

FEW = 500
"""A page of as many records of 1 KB takes 0.15 us more per record: a million of them take what pandas takes once."""

TIMESTAMP = pa.timestamp("us", tz="UTC")


def binaries(values: Sequence[bytes]) -> pa.Array:
    if len(values) > FEW:
        return pa.array(values, pa.binary())
    return _from_parts(pa.binary(), values, b"".join(values))


def strings(values: Sequence[str | None]) -> pa.Array:
    if len(values) > FEW:
        return pa.array(values, pa.string())
    texts = [value or "" for value in values]
    joined = "".join(texts)
    if joined.isascii():  # as sequence numbers are: a character is a byte
        return _from_parts(pa.string(), texts, joined.encode(), _validity(values))
    encoded = [text.encode() for text in texts]
    return _from_parts(pa.string(), encoded, b"".join(encoded), _validity(values))


def longs(values: Sequence[int]) -> pa.Array:
    return pa.array(values, pa.int64()) if len(values) > FEW else _from_longs(pa.int64(), values)


def timestamps(seconds: Sequence[float | None]) -> pa.Array:
    """
    Return *seconds* since the epoch as timestamps in microseconds, rounded to the millisecond.

    Kinesis writes milliseconds as decimal fractions of a second. A float of the present time is off by a tenth of a
    microsecond, so rounding restores the exact millisecond.
    """
    if len(seconds) > FEW:
        return _many_timestamps(seconds)
    micros = [1000 * round((at_s or 0.0) * 1000.0) for at_s in seconds]
    return _from_longs(TIMESTAMP, micros, _validity(seconds))


def constant(value: str | int, count: int) -> pa.Array:
    """Return *count* times *value*, as strings or longs."""
    # 40 us for 10,000 rows: an array kept per shard would save too little.
    one = strings([value]) if isinstance(value, str) else longs([value])
    return pa.repeat(one[0], count)


def _from_parts(
    kind: pa.DataType, parts: Sequence[bytes | str], joined: bytes, validity: pa.Buffer | None = None
) -> pa.Array:
    ends = array("i", accumulate(map(len, parts), initial=0))
    return pa.Array.from_buffers(kind, len(parts), [validity, pa.py_buffer(ends), pa.py_buffer(joined)])


def _from_longs(kind: pa.DataType, values: Sequence[int], validity: pa.Buffer | None = None) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(array("q", values))])


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    """Return Arrow's bitmap of the values that are not None. None: all of them."""
    if None not in values:
        return None
    bits = sum(1 << index for index, value in enumerate(values) if value is not None)
    return pa.py_buffer(bits.to_bytes(-(-len(values) // 8), "little"))


def _many_timestamps(seconds: Sequence[float | None]) -> pa.Array:
    import pyarrow.compute as pc

    milliseconds = pc.round(pc.multiply(pa.array(seconds, pa.float64()), 1000.0))
    return pc.cast(pc.multiply(pc.cast(milliseconds, pa.int64()), 1000), TIMESTAMP)
