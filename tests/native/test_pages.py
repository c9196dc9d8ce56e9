"""Pages, decoded by kinesis-native and by Python: the same records, or native code leaves the page to Python."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from kinesis_core.aws import MALFORMED
from kinesis_core.aws.fast.wire import decode_event_in_python, decode_page_in_python
from kinesis_core.model import Page, Record, RecordColumns, SubscribedPage
from native.package import require_native
from support.hostile import bodies, mutated

native = require_native()

RECORD = {
    "SequenceNumber": "4966",
    "ApproximateArrivalTimestamp": 1790000000.123,
    "Data": "eA==",
    "PartitionKey": "k",
    "EncryptionType": "NONE",
}
PAGE = {
    "Records": [RECORD, RECORD],
    "NextShardIterator": "next",
    "MillisBehindLatest": 0,
    "ChildShards": [],
    "ContinuationSequenceNumber": "4967",
}
COMPACT = json.dumps(PAGE, separators=(",", ":")).encode()


def facts(page: Page) -> tuple[Any, ...]:
    """Return everything of *page* that anybody uses."""
    continuation = page.continuation if isinstance(page, SubscribedPage) else None
    records = [
        Record(r.sequence_number, r.data, r.partition_key, r.arrived_s, r.encryption_type)
        for r in page.records
    ]
    return records, page.millis_behind, page.next_iterator, continuation, bool(page.child_shards)


def native_facts(found: Any, is_event: bool) -> tuple[Any, ...]:
    continuation = found.continuation if is_event else None
    return list(RecordColumns(found)), found.millis_behind, found.next_iterator, continuation, False


def compare(body: bytes, with_data: bool, is_event: bool) -> bool:
    """Check that both decode *body* into the same page. Return whether native code recognised it."""
    found = native.decode_page(body, with_data)
    if found is None:
        return False
    decode = decode_event_in_python if is_event else decode_page_in_python
    assert native_facts(found, is_event) == facts(decode(body, with_data))
    return True


times = st.integers(0, 253_402_300_799_999)
numbers = st.integers(0, 10**128).map(str)
keys = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\'), max_size=20)


def written(ms: int, form: str) -> str:
    """Return a time in one of the forms that servers write."""
    if form == "exponent":
        digits = str(ms)
        return f"{digits[0]}.{digits[1:] or '0'}E{len(digits) - 4}"
    return f"{ms // 1000}.{ms % 1000:03}" if form == "fixed" else json.dumps(ms / 1000)


@st.composite
def members(draw: st.DrawFn) -> str:
    """Return a record as a server may write it: members in any order, some of them missing or null."""
    found = {
        "SequenceNumber": json.dumps(draw(numbers)),
        "ApproximateArrivalTimestamp": written(
            draw(times), draw(st.sampled_from(["exponent", "fixed", "json"]))
        ),
        "Data": json.dumps(base64.b64encode(draw(st.binary(max_size=60))).decode()),
        "PartitionKey": f'"{draw(keys)}"',
        "EncryptionType": draw(st.sampled_from(['"NONE"', '"KMS"', "null"])),
    }
    for name in draw(st.sets(st.sampled_from(list(found)[1:]))):
        if name != "Data" and draw(st.booleans()):
            found[name] = "null"
        else:
            del found[name]
    order = draw(st.permutations(list(found)))
    return "{" + ",".join(f'"{name}":{found[name]}' for name in order) + "}"


@st.composite
def pages(draw: st.DrawFn) -> bytes:
    """Return a page as a server may write it."""
    space = draw(st.sampled_from(["", "", " ", "\n\t"]))
    found = {
        "Records": f"[{f',{space}'.join(draw(st.lists(members(), max_size=5)))}]",
        "MillisBehindLatest": str(draw(st.integers(0, 10**17))),
        "NextShardIterator": draw(st.sampled_from(['"AAAA=="', "null", '""'])),
        "ContinuationSequenceNumber": json.dumps(draw(numbers)),
        "ChildShards": draw(st.sampled_from(["null", "[]", f"[{space}]"])),
    }
    for name in draw(st.sets(st.sampled_from(list(found)[2:]))):
        del found[name]
    order = draw(st.permutations(list(found)))
    text = (
        f"{{{space}"
        + f",{space}".join(f'"{name}":{space}{found[name]}' for name in order)
        + f"{space}}}{space}"
    )
    return text.encode()


@given(pages(), st.booleans(), st.booleans())
def test_pages_of_servers_are_recognised(body: bytes, with_data: bool, is_event: bool) -> None:
    """Native code recognises pages in every form that servers write, and finds in them what Python finds."""
    assert compare(body, with_data, is_event)


@given(bodies(PAGE) | mutated(COMPACT) | pages().flatmap(mutated), st.booleans(), st.booleans())
@example(COMPACT.replace(b"eA==", b"e A="), False, False)
@example(COMPACT.replace(b"eA==", b"\xff"), False, False)
def test_other_bodies_are_left_to_python(body: bytes, with_data: bool, is_event: bool) -> None:
    """Of any body native code finds what Python finds. A body that Python refuses is one that it does not recognise."""
    try:
        compare(body, with_data, is_event)
    except MALFORMED:
        pytest.fail("native code recognises what Python refuses")


@pytest.mark.parametrize(
    ("usual", "other"),
    [
        (b'"PartitionKey":"k"', b'"PartitionKey":"k","PartitionKey":"l"'),
        (b'"PartitionKey":"k"', b'"PartitionKey":"\\u006b"'),
        (b'"PartitionKey":"k"', b'"PartitionKey" :"k"'),
        (b'"PartitionKey":"k"', b'"PartitionKey":"k","Later":1'),
        (b'"MillisBehindLatest":0', b'"MillisBehindLatest":0,"MillisBehindLatest":0'),
        (b'"ChildShards":[]', b'"ChildShards":[{}]'),
        (b"1790000000.123", b"1790000000.1234"),
        (b"1790000000.123", b"-0"),
        (b'"eA=="', b'"eB=="'),
        (b'{"Records"', b'{"Records":[],"Records"'),
    ],
)
def test_unusual_forms_are_left_to_python(usual: bytes, other: bytes) -> None:
    """Members that are repeated or unknown, escapes, odd layout, children, odd times and odd base64 are decoded by Python."""
    assert native.decode_page(COMPACT, True) is not None
    body = COMPACT.replace(usual, other)
    assert body != COMPACT
    assert native.decode_page(body, True) is None
    assert decode_event_in_python(body, True).records


@given(pages(), st.integers(0, 5), st.integers(0, 5), st.integers(-7, 7))
def test_a_part_of_a_page_is_a_sequence(body: bytes, start: int, stop: int, index: int) -> None:
    """Slices, items, lengths and sizes of the records are those of a list."""
    found = RecordColumns(native.decode_page(body, True))
    whole = list(found)
    part, expected = found[start:stop], whole[start:stop]
    assert (len(part), list(part), part == expected) == (len(expected), expected, True)
    assert found[::-1] == whole[::-1]
    assert isinstance(part, RecordColumns)
    assert part.data_bytes == sum(len(record.data) for record in expected)
    if -len(expected) <= index < len(expected):
        assert part[index] == expected[index]
    else:
        with pytest.raises(IndexError):
            part[index]


@given(pages(), st.integers(0, 9), st.integers(0, 9))
def test_a_body_may_be_a_part_of_bytes(body: bytes, before: int, after: int) -> None:
    """A payload is found among other bytes, in bytes and in a bytearray."""
    expected = native_facts(native.decode_page(body, True), True)
    received = b"x" * before + body + b"y" * after
    for kind in (bytes, bytearray):
        found = native.decode_page(kind(received), True, before, before + len(body))
        assert native_facts(found, True) == expected


def test_a_part_beyond_the_bytes_is_an_error() -> None:
    """A part that is not in the body is an error of the caller. A body of another type is left to Python."""
    for start, stop in ((0, len(COMPACT) + 1), (5, 4)):
        with pytest.raises(IndexError):
            native.decode_page(COMPACT, True, start, stop)
    assert native.decode_page(memoryview(COMPACT), True) is None
    with pytest.raises(IndexError):
        native.decode_page(COMPACT, True).records(1, 3)
