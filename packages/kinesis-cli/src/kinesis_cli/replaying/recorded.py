"""Lines of JSON become records with their keys and arrival times."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kinesis_cli.putting import Rows
from kinesis_cli.records import LineError, arrived_ms, decode_line


@frozen
class Recorded:
    """Records of a file that follow each other."""

    rows: Rows
    times_ms: Sequence[int | None]
    """When each of them arrived in the stream that it was read from."""


def decode_rows(lines: Rows) -> Recorded:
    """Return the records on *lines*. Lines that are no records are among the refused ones."""
    refused = dict(lines.refused)
    numbers: list[int] = []
    data: list[bytes] = []
    keys: list[str | None] = []
    hash_keys: list[str | None] = []
    times_ms: list[int | None] = []
    for number, text in zip(lines.numbers, lines.data, strict=True):
        try:
            line, payload = decode_line(text)
            time_ms = arrived_ms(line)
        except LineError as error:
            refused[number] = f"is not a record: {error}"
            continue
        numbers.append(number)
        data.append(payload)
        keys.append(line.partition_key)
        hash_keys.append(line.explicit_hash_key)
        times_ms.append(time_ms)
    return Recorded(Rows(lines.source, numbers, data, refused, lines.empty, keys, hash_keys), times_ms)
