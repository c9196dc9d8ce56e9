"""Keys of records: constants, and fields of their JSON."""

from __future__ import annotations

import pytest

from kinesis_cli.ending import UsageError
from kinesis_cli.putting import parse_key


def keys(text: str, *records: bytes) -> list[str | None]:
    found, faults = parse_key(text, "--key").column(records)
    assert not faults
    return found


def fault(text: str, record: bytes) -> str:
    (key,), faults = parse_key(text, "--key").column([record])
    assert key is None
    return faults[0]


@pytest.mark.parametrize(
    ("text", "constant"), [("c-7", "c-7"), ("=.hidden", ".hidden"), ("==", "="), ("=", ""), ("a=b", "a=b")]
)
def test_constants(text: str, constant: str) -> None:
    """Text is a constant. After = it may begin with a dot."""
    assert keys(text, b"1", b"no JSON") == [constant, constant]


@pytest.mark.parametrize("path", [".a.b", '."a".b', '.["a"].b', '.a["b"]', '."\u0061"."b"'])
def test_paths(path: str) -> None:
    """A field is named as in jq."""
    assert keys(path, b'{"a": {"b": "x"}}') == ["x"]


@pytest.mark.parametrize(
    ("path", "key"), [(".a[1]", "y"), (".a.[0]", "x"), ('.["c d"]', "z"), ('."c d"', "z")]
)
def test_steps(path: str, key: str) -> None:
    """Elements of arrays, and names that are no words."""
    assert keys(path, b'{"a": ["x", "y"], "c d": "z"}') == [key]


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (b'"x"', "x"),
        (b"7", "7"),
        (b"12345678901234567890123", "12345678901234567890123"),
        (b"9007199254740993", "9007199254740993"),
        (b"1.50", "1.50"),
        (b"true", "true"),
        (b"false", "false"),
    ],
)
def test_values(value: bytes, key: str) -> None:
    """Text, numbers and booleans are keys, as they are written. No digit is lost."""
    assert keys(".id", b'{"id": %s}' % value) == [key]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"secret", "is not JSON"),
        (b'{"id": "\xff"}', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"name": "secret"}', "has no .id"),
        (b'["secret"]', "has no .id"),
        (b'"secret"', "has no .id"),
        (b'{"id": null}', "has null at .id, which is not a key"),
        (b'{"id": {}}', "has an object at .id, which is not a key"),
        (b'{"id": ["secret"]}', "has an array at .id, which is not a key"),
    ],
)
def test_records_without_key(record: bytes, reason: str) -> None:
    """A record without the field has no key. The reason does not show the record."""
    assert fault(".id", record) == reason


def test_an_index_outside_the_array() -> None:
    """An element that is not there is no key."""
    assert fault(".a[2]", b'{"a": [1, 2]}') == "has no .a[2]"


@pytest.mark.parametrize("text", [".", "..a", ".a.", ".a b", ".a[b]", ".a | .b", ".a[-1]"])
def test_malformed_paths(text: str) -> None:
    """What begins with a dot and is no path is a wrong command line. The error says how to write a constant."""
    with pytest.raises(UsageError, match=r"a constant that begins with a dot is written ="):
        parse_key(text, "--key")
