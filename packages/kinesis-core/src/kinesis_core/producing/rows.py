"""User records as columns, of Python or of kinesis-native, and the checks before any of them is put."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, repeat
from operator import add, itemgetter
from typing import Any, Protocol, cast

from attrs import frozen

from kinesis_core.aggregation import is_hash_key
from kinesis_core.errors import InvalidRecordError
from kinesis_core.model import EntryColumns, NativeEntries
from kinesis_core.native import find_native

MAX_KEY_CHARS = 256
NO_KEY = ""
"""Stands for a missing partition key. Kinesis does not accept an empty key."""
_RANDOM_KEY_CHARS = 16
_POOL, _ROUNDS = 256, 16
_ANY_KEY = "0" * _RANDOM_KEY_CHARS
_MOST_BYTES_A_CHAR = 4
_MOST_KIB = 10 * 1024
"""The highest MaxRecordSizeInKiB of a stream."""


@frozen
class Rows:
    """User records with their partition keys."""

    data: Sequence[bytes]
    keys: Sequence[str]
    """`NO_KEY` for those without one."""
    hash_keys: Sequence[str | None] | None = None
    """Explicit hash keys, or None if no row has one."""

    def __len__(self) -> int:
        return len(self.data)

    def hash_key(self, index: int) -> str | None:
        return None if self.hash_keys is None else self.hash_keys[index]

    def sizes(self) -> list[int]:
        """Return the bytes of data and key of each row, which Kinesis' limits count."""
        keys: Iterable[str | bytes] = self.keys
        if not "".join(self.keys).isascii():
            keys = map(str.encode, self.keys)
        return list(map(add, map(len, self.data), map(len, keys)))

    def size_bytes(self) -> int:
        """Return the bytes of data and keys of all rows."""
        return sum(map(len, self.data)) + len("".join(self.keys).encode())

    def part(self, start: int, stop: int) -> Rows:
        hash_keys = None if self.hash_keys is None else self.hash_keys[start:stop]
        return Rows(self.data[start:stop], self.keys[start:stop], hash_keys)

    def joined(self, other: Rows) -> Rows:
        """Return these rows, followed by *other*."""
        hash_keys = None
        if self.hash_keys is not None or other.hash_keys is not None:
            hash_keys = [row.hash_key(index) for row in (self, other) for index in range(len(row))]
        return Rows([*self.data, *other.data], [*self.keys, *other.keys], hash_keys)

    def pick(self, indexes: Sequence[int]) -> Rows:
        """Return the rows at *indexes*."""
        if len(indexes) == 1:
            return self.part(indexes[0], indexes[0] + 1)
        pick = itemgetter(*indexes)
        hash_keys = None if self.hash_keys is None else pick(self.hash_keys)
        return Rows(pick(self.data), pick(self.keys), hash_keys)

    def with_keys(self, keys: Iterator[str]) -> Rows:
        """Return these rows. Those without a partition key get the next of *keys*."""
        missing = self.keys.count(NO_KEY)
        if not missing:
            return self
        if missing == len(self):
            return Rows(self.data, list(islice(keys, missing)), self.hash_keys)
        return Rows(self.data, [key or next(keys) for key in self.keys], self.hash_keys)


def random_keys(rng: random.Random) -> Iterator[str]:
    """
    Yield partition keys without end, for records that have no key.

    Each key is used several times. An aggregate stores a key once for all its user records. The hash of a known key is not
    computed again.
    """
    while True:
        pool = [f"{rng.getrandbits(64):0{_RANDOM_KEY_CHARS}x}" for _ in range(_POOL)]
        for _ in range(_ROUNDS):
            yield from pool


def keys_of(given: Sequence[str | None] | None, count: int) -> Sequence[str]:
    """
    Return the partition keys of *count* rows, with `NO_KEY` for those without one.

    Raises:
        InvalidRecordError: Some keys are missing, and another one is empty.
    """
    if given is None:
        return [NO_KEY] * count
    if None not in given:
        return cast(Sequence[str], given)
    if NO_KEY in given:
        row = given.index(NO_KEY)
        raise InvalidRecordError(f"The partition key of {_name(row, count)} {_why_not_key(NO_KEY)}.", row)
    return [NO_KEY if key is None else key for key in given]


def check_rows(
    rows: Rows, max_record_bytes: int, known_keys: Collection[str], *, may_lack_keys: bool = False
) -> int:
    """
    Check that Kinesis would accept every row, and return the bytes of the longest data.

    Keys in *known_keys* were checked before. With *may_lack_keys*, rows may have no key.

    Raises:
        InvalidRecordError: Kinesis would refuse a row. The message contains neither data nor key.
    """
    _check_columns(rows)
    _check_type("data", rows.data, bytes)
    _check_type("partition key", rows.keys, str)
    keys = set(rows.keys) - {NO_KEY} if may_lack_keys else set(rows.keys)
    wrong = {key: reason for key in keys if key not in known_keys and (reason := _why_not_key(key))}
    if wrong:
        row, key = next((row, key) for row, key in enumerate(rows.keys) if key in wrong)
        raise InvalidRecordError(f"The partition key of {_name(row, len(rows.keys))} {wrong[key]}.", row)
    if rows.hash_keys is not None:
        _check_hash_keys(rows.hash_keys)
    longest = max(map(len, rows.data), default=0)
    if longest + _MOST_BYTES_A_CHAR * MAX_KEY_CHARS > max_record_bytes:
        _check_sizes(rows, max_record_bytes)
    return longest


def _check_columns(rows: Rows) -> None:
    lengths = [len(rows.data), len(rows.keys)]
    if rows.hash_keys is not None:
        lengths.append(len(rows.hash_keys))
    if len(set(lengths)) > 1:
        raise InvalidRecordError(
            f"Data, partition keys and explicit hash keys must have equal lengths; got {lengths}."
        )


def _check_type(what: str, values: Sequence[object], kind: type) -> None:
    if set(map(type, values)) <= {kind}:
        return
    row, value = next((row, value) for row, value in enumerate(values) if type(value) is not kind)
    raise InvalidRecordError(
        f"The {what} of {_name(row, len(values))} must be {kind.__name__}; got {type(value).__name__}.", row
    )


def _why_not_key(key: str) -> str:
    if not 1 <= len(key) <= MAX_KEY_CHARS:
        return f"has {len(key)} characters; Kinesis accepts 1 to {MAX_KEY_CHARS}"
    try:
        key.encode()
    except UnicodeEncodeError:
        return "is not Unicode text: it contains half a surrogate pair"
    return ""


def _check_hash_keys(hash_keys: Sequence[str | None]) -> None:
    for row, key in enumerate(hash_keys):
        if key is None:
            continue
        where = _name(row, len(hash_keys))
        if type(key) is not str:
            raise InvalidRecordError(
                f"The explicit hash key of {where} must be str; got {type(key).__name__}.", row
            )
        if not is_hash_key(key):
            raise InvalidRecordError(
                f"The explicit hash key of {where} is not a decimal number from 0 to 2^128-1.", row
            )


def _check_sizes(rows: Rows, max_record_bytes: int) -> None:
    for row, size_bytes in enumerate(rows.with_keys(repeat(_ANY_KEY)).sizes()):
        if size_bytes > max_record_bytes:
            size_kib, limit_kib = -(-size_bytes // 1024), max_record_bytes // 1024
            remedy = (
                f"This stream accepts {limit_kib} KiB. Make it smaller, or raise the stream's MaxRecordSizeInKiB to {size_kib} or more."
                if size_kib <= _MOST_KIB
                else f"This stream accepts {limit_kib} KiB, and no stream more than {_MOST_KIB} KiB. Make it smaller."
            )
            raise InvalidRecordError(
                f"{_name(row, len(rows)).capitalize()} has {size_kib} KiB (data and partition key). {remedy}",
                row,
            )


def _name(row: int, count: int) -> str:
    """Return what a message calls a row of *count* rows. The only one is that of `put`, which has no index."""
    return "the record" if count == 1 else f"row {row}"


RowLists = tuple[list[bytes], list[str], list[str | None] | None]
"""Data, partition keys and explicit hash keys."""


class NativeRows(Protocol):
    """Rows, as kinesis-native has them."""

    @property
    def longest_bytes(self) -> int: ...

    @property
    def largest_bytes(self) -> int: ...

    def __len__(self) -> int: ...

    def part(self, start: int, stop: int) -> NativeRows: ...

    def missing_keys(self) -> int: ...

    def with_keys(self, partition_keys: Sequence[str]) -> NativeRows: ...

    def group(self, starts: bytes) -> list[tuple[int, NativeRows]] | None: ...

    def size_bytes(self) -> int: ...

    def entries(self) -> NativeEntries: ...

    def lists(self) -> RowLists: ...


class RowColumns(Rows):
    """Rows of kinesis-native. They were checked when they were made."""

    __slots__ = ("_lists", "native")

    native: NativeRows
    _lists: RowLists | None

    def __init__(self, native: NativeRows) -> None:
        object.__setattr__(self, "native", native)
        object.__setattr__(self, "_lists", None)

    def _listed(self) -> RowLists:
        if self._lists is None:
            object.__setattr__(self, "_lists", self.native.lists())
        assert self._lists is not None  # noqa: S101 - set above
        return self._lists

    @property
    def data(self) -> Sequence[bytes]:
        return self._listed()[0]

    @property
    def keys(self) -> Sequence[str]:
        return self._listed()[1]

    @property
    def hash_keys(self) -> Sequence[str | None] | None:
        return self._listed()[2]

    def __len__(self) -> int:
        return len(self.native)

    def size_bytes(self) -> int:
        return self.native.size_bytes()

    def part(self, start: int, stop: int) -> RowColumns:
        start, stop, _ = slice(start, stop).indices(len(self))
        return RowColumns(self.native.part(start, max(start, stop)))

    def with_keys(self, keys: Iterator[str]) -> Rows:
        if not self.native.missing_keys():
            return self
        return RowColumns(self.native.with_keys([key or next(keys) for key in self.keys]))

    def entries(self) -> EntryColumns:
        """Return a record for each row."""
        return EntryColumns(self.native.entries())


def columns_of(rows: Rows) -> Rows:
    """Return checked *rows* as columns of kinesis-native if this process uses it."""
    native = find_native()
    found = None if native is None else native.PutRows.of_lists(rows.data, rows.keys, rows.hash_keys)
    return rows if found is None else RowColumns(found)


def columns_of_arrays(
    data: Any, partition_keys: Any, explicit_hash_keys: Any, max_record_bytes: int
) -> RowColumns | None:
    """
    Return Arrow arrays as rows. Nothing is copied.

    Returns None if Python has to look at them: kinesis-native is not used, does not know their types, or Kinesis would
    refuse a row.
    """
    native = find_native()
    if native is None:
        return None
    found = native.PutRows.of_arrays(data, partition_keys, explicit_hash_keys)
    return None if found is None or found.largest_bytes > max_record_bytes else RowColumns(found)
