"""Puts the valid ones of many records, and keeps those apart that Kinesis would refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from kinesis_cli.putting.lines import Column
from kinesis_core import InvalidRecordError


class PutsColumns(Protocol):
    """The part of a producer that is needed here."""

    def put_columns(
        self, data: Sequence[bytes], partition_keys: Column = None, explicit_hash_keys: Column = None
    ) -> None: ...


def put_valid(
    producer: PutsColumns,
    data: Sequence[bytes],
    keys: Column,
    hash_keys: Column,
    refuse: Callable[[int, str], None],
    first: int = 0,
) -> None:
    """
    Put the records, in their order. For those that Kinesis would refuse, *refuse* gets the index, from *first*, and the reason.

    A producer puts all records of a call or none. So halves are put, until the bad ones are alone.

    Raises:
        PutError: Earlier records could not be written.
    """
    try:
        producer.put_columns(data, keys, hash_keys)
    except InvalidRecordError as error:
        count = len(data)
        if count == 1:
            refuse(first, _reason(error))
            return
        for start, stop in ((0, count // 2), (count // 2, count)):
            columns = [column and column[start:stop] for column in (keys, hash_keys)]
            put_valid(producer, data[start:stop], columns[0], columns[1], refuse, first + start)


def _reason(error: InvalidRecordError) -> str:
    """Return the message about the one row of a call, as what a line is or has."""
    text = re.sub(r"^Row 0 ", "", str(error).rstrip("."))
    return re.sub(r"^The (.*) of row 0 ", r"has a wrong \1: it ", text)
