"""The emulator's codec, by the examples of RFC 8949."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kinesis_emulator import cbor

VECTORS: list[tuple[Any, str]] = [
    (0, "00"),
    (1, "01"),
    (10, "0a"),
    (23, "17"),
    (24, "1818"),
    (25, "1819"),
    (100, "1864"),
    (1000, "1903e8"),
    (1000000, "1a000f4240"),
    (1000000000000, "1b000000e8d4a51000"),
    (18446744073709551615, "1bffffffffffffffff"),
    (-18446744073709551616, "3bffffffffffffffff"),
    (-1, "20"),
    (-10, "29"),
    (-100, "3863"),
    (-1000, "3903e7"),
    (1.1, "fb3ff199999999999a"),
    (1.0e300, "fb7e37e43c8800759c"),
    (-4.1, "fbc010666666666666"),
    (False, "f4"),
    (True, "f5"),
    (None, "f6"),
    (b"", "40"),
    (bytes.fromhex("01020304"), "4401020304"),
    ("", "60"),
    ("a", "6161"),
    ("IETF", "6449455446"),
    ('"\\', "62225c"),
    ("\u00fc", "62c3bc"),
    ("\u6c34", "63e6b0b4"),
    ("\U00010151", "64f0908591"),
    ([], "80"),
    ([1, 2, 3], "83010203"),
    ([1, [2, 3], [4, 5]], "8301820203820405"),
    (list(range(1, 26)), "98190102030405060708090a0b0c0d0e0f101112131415161718181819"),
    ({}, "a0"),
    ({"a": 1, "b": [2, 3]}, "a26161016162820203"),
    (["a", {"b": "c"}], "826161a161626163"),
    ({"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}, "a56161614161626142616361436164614461656145"),
    (cbor.Time(1363896240), "c11a514b67b0"),
]
"""Those of Appendix A whose types are used here."""
READ_ONLY: list[tuple[Any, str]] = [
    (0.0, "f90000"),
    (1.0, "f93c00"),
    (1.5, "f93e00"),
    (65504.0, "f97bff"),
    (5.960464477539063e-8, "f90001"),
    (-4.0, "f9c400"),
    (100000.0, "fa47c35000"),
    (3.4028234663852886e38, "fa7f7fffff"),
    (math.inf, "f97c00"),
    (-math.inf, "faff800000"),
    (bytes.fromhex("0102030405"), "5f42010243030405ff"),
    ("streaming", "7f657374726561646d696e67ff"),
    ([], "9fff"),
    ([1, [2, 3], [4, 5]], "9f018202039f0405ffff"),
    ([1, [2, 3], [4, 5]], "83018202039f0405ff"),
    ({"a": 1, "b": [2, 3]}, "bf61610161629f0203ffff"),
    (["a", {"b": "c"}], "826161bf61626163ff"),
    ({"Fun": True, "Amt": -2}, "bf6346756ef563416d7421ff"),
]
"""Those that are read, and written in another way."""
REFUSED = [
    *("", "18", "1c", "1f", "3f", "ff"),  # cut short, reserved, an indefinite length of a number, a break
    *("1fff", "1f00ff", "3fff", "dfff"),  # an indefinite length of a number or a tag
    *("0000", "8001", "f6f6"),  # bytes after the value
    *("41", "62ff", "8201", "a16161", "5f41", "7f6161", "9f01", "bf6161", "bf6161ff"),
    *("61ff", "62c328", "7f61c361bcff"),  # no UTF-8, also when only the parts together are
    *("f7", "f0", "f8ff", "f820"),  # undefined, and other simple values
    *("a10102", "a1410102", "a18001", "a1f601"),  # keys that are not text
    *("a2616101616102", "bf616101616102ff"),  # a key twice
    *(
        "c074323031332d30332d32315432303a30343a30305a",
        "c249010000000000000000",
        "d74401020304",
        "d818456449455446",
    ),
    *("c1fb41d452d9ec200000", "c16161", "c1f5", "c1c100", "c1"),
    *(
        "c000",
        "c200",
        "d81c00",
        "d9d9f700",
    ),  # other tags before an integer  # tag 1 before anything but an integer
    *("5f6161ff", "7f4161ff", "5f5f4161ffff", "5f01ff"),  # parts of another type
    *("5bffffffffffffffff", "7b7fffffffffffffff", "9bffffffffffffffff", "bbffffffffffffffff", "9affffffff00"),
    *("81" * 33 + "00", "9f" * 100_000, "a16161" * 100_000, "c1" * 100_000),
]


@pytest.mark.parametrize(("value", "written"), VECTORS, ids=[vector[1][:24] for vector in VECTORS])
def test_examples_are_written_and_read(value: Any, written: str) -> None:
    """A value is written as in the RFC, and read from it with the same type."""
    assert cbor.encode(value).hex() == written
    found = cbor.decode(bytes.fromhex(written))
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(("value", "written"), READ_ONLY)
def test_other_forms_are_read(value: Any, written: str) -> None:
    """Short floats and indefinite lengths are read."""
    assert cbor.decode(bytes.fromhex(written)) == value


@pytest.mark.parametrize("written", REFUSED, ids=[f"{i} {written[:20]}" for i, written in enumerate(REFUSED)])
def test_everything_else_is_refused(written: str) -> None:
    """Bytes that are not exactly one value raise a ValueError at once, without memory for the lengths that they announce."""
    with pytest.raises(ValueError, match=r".+"):
        cbor.decode(bytes.fromhex(written))


@pytest.mark.parametrize(
    ("value", "error"),
    [(2**64, OverflowError), (-(2**64) - 1, OverflowError), ({1, 2}, TypeError), (1j, TypeError)],
)
def test_what_cannot_be_written(value: Any, error: type[Exception]) -> None:
    """Integers of more than 64 bits and other types are refused."""
    with pytest.raises(error):
        cbor.encode([value])
