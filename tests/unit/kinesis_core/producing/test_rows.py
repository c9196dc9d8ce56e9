from __future__ import annotations

from typing import Any

import pytest

from kinesis_core.errors import InvalidRecordError
from kinesis_core.producing.rows import NO_KEY, Rows, check_rows, keys_of

MAX = 1024 * 1024


def check(data: Any, keys: Any, hash_keys: Any = None) -> int:
    return check_rows(Rows(data, keys, hash_keys), MAX, {})


def test_good_rows_pass() -> None:
    """Keys of 1 to 256 characters, hash keys from 0 to 2^128-1, empty data and the largest record are accepted."""
    data = [b"", b"x" * (MAX - 256), b""]
    assert check(data, ["k", "k" * 256, "é" * 256], ["0", str(2**128 - 1), None]) == MAX - 256
    assert check([], []) == 0


@pytest.mark.parametrize(
    ("data", "keys", "hash_keys", "message"),
    [
        ([b"", "text"], ["k", "k"], None, "The data of row 1 must be bytes; got str."),
        ([b"", None], ["k", "k"], None, "The data of row 1 must be bytes; got NoneType."),
        ([b"", bytearray()], ["k", "k"], None, "The data of row 1 must be bytes; got bytearray."),
        ([b"", b""], ["k", b"k"], None, "The partition key of row 1 must be str; got bytes."),
        (
            [b"", b""],
            ["k", ""],
            None,
            "The partition key of row 1 has 0 characters; Kinesis accepts 1 to 256.",
        ),
        ([b"", b""], ["k", "s" * 257], None, "row 1 has 257 characters; Kinesis accepts 1 to 256."),
        ([b"", b""], ["k", "\ud800"], None, "The partition key of row 1 is not Unicode text"),
        ([b"", b""], ["k", "k"], [None, "-1"], "row 1 is not a decimal number from 0 to 2^128-1."),
        ([b"", b""], ["k", "k"], [None, ""], "row 1 is not a decimal number from 0 to 2^128-1."),
        ([b"", b""], ["k", "k"], [None, "0x1"], "row 1 is not a decimal number from 0 to 2^128-1."),
        ([b"", b""], ["k", "k"], [None, "\u0661"], "row 1 is not a decimal number from 0 to 2^128-1."),
        ([b"", b""], ["k", "k"], [None, "05"], "row 1 is not a decimal number from 0 to 2^128-1."),
        ([b"", b""], ["k", "k"], [None, str(2**128)], "row 1 is not a decimal number from 0 to 2^128-1."),
        ([b"", b""], ["k", "k"], [None, "9" * 5000], "row 1 is not a decimal number from 0 to 2^128-1."),
        ([b"", b""], ["k", "k"], [None, 5], "The explicit hash key of row 1 must be str; got int."),
        (
            [b"", bytes(MAX)],
            ["k", "k"],
            None,
            "Row 1 has 1025 KiB (data and partition key). This stream accepts 1024 KiB. Make it smaller, or raise "
            "the stream's MaxRecordSizeInKiB to 1025 or more.",
        ),
        (
            [b"", bytes(10 * MAX)],
            ["k", "k"],
            None,
            "This stream accepts 1024 KiB, and no stream more than 10240 KiB. Make it smaller.",
        ),
        ([b"", bytes(MAX - 1)], ["k", "é"], None, "Row 1 has 1025 KiB (data and partition key)"),
    ],
)
def test_a_bad_row_is_named(data: Any, keys: Any, hash_keys: Any, message: str) -> None:
    """The error names the row, and says what is wrong with it."""
    with pytest.raises(InvalidRecordError) as caught:
        check(data, keys, hash_keys)
    assert message in str(caught.value)
    assert caught.value.row == 1


@pytest.mark.parametrize(
    ("data", "key", "hash_key", "message"),
    [
        (b"", "", None, "The partition key of the record has 0 characters"),
        (None, "k", None, "The data of the record must be bytes"),
        (b"", "k", 5, "The explicit hash key of the record must be str"),
        (b"", "k", "x", "The explicit hash key of the record is not a decimal number"),
    ],
)
def test_the_only_row_has_no_index(data: Any, key: Any, hash_key: Any, message: str) -> None:
    """Who puts one record did not give rows."""
    with pytest.raises(InvalidRecordError, match=message):
        check([data], [key], [hash_key])


def test_keys_may_be_missing() -> None:
    """All keys or some of them may be missing. An empty key is an error that names its row."""
    assert keys_of(None, 2) == [NO_KEY, NO_KEY]
    assert keys_of(["a", None], 2) == ["a", NO_KEY]
    given = ["a", "b"]
    assert keys_of(given, 2) is given
    with pytest.raises(InvalidRecordError, match="row 2 has 0 characters") as caught:
        keys_of(["a", None, ""], 3)
    assert caught.value.row == 2


def test_missing_keys_count_as_random_ones() -> None:
    """The size check counts a random key for a row without a key, whether or not the stream needs one."""
    rows = Rows([b"", bytes(MAX - 16)], [NO_KEY, NO_KEY])
    assert check_rows(rows, MAX, {}, may_lack_keys=True) == MAX - 16
    with pytest.raises(InvalidRecordError, match=r"^The record has 1025 KiB"):
        check_rows(Rows([bytes(MAX - 15)], [NO_KEY]), MAX, {}, may_lack_keys=True)


def test_columns_must_be_of_equal_length() -> None:
    """Columns of different lengths are an error."""
    with pytest.raises(InvalidRecordError, match=r"equal lengths; got \[2, 1\]"):
        check([b"", b""], ["k"])
    with pytest.raises(InvalidRecordError, match=r"equal lengths; got \[1, 1, 2\]"):
        check([b""], ["k"], [None, None])


def test_errors_show_neither_keys_nor_data() -> None:
    """Errors describe the problem without keys and data, which may be private."""
    with pytest.raises(InvalidRecordError) as caught:
        check([b"private data"], ["private key" * 30])
    assert "private" not in str(caught.value)
    with pytest.raises(InvalidRecordError) as caught:
        check([b"private data"], ["key"], ["private hash key"])
    assert "private" not in str(caught.value)


@pytest.mark.parametrize(("key", "size"), [("key", 7), ("schlüssel", 14), ("🔑", 8)])
def test_sizes_count_the_bytes_of_keys(key: str, size: int) -> None:
    """The size of a record is its data and the UTF-8 bytes of its partition key."""
    assert Rows([b"data"], [key]).sizes() == [size]
