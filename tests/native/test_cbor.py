"""Pages in CBOR, decoded by kinesis-native and by Python: the same records, or native code leaves the page to Python."""

from __future__ import annotations

import cbor2
import pytest
from hypothesis import example, given, strategies as st

from kinesis_core.aws import MALFORMED
from kinesis_core.aws.fast.wire_cbor import decode_page_in_python
from kinesis_core.model import Page, RecordColumns
from native.package import require_native
from support.hostile import mutated
from support.vectors import facts

native = require_native()

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
epochs_ms = st.integers(0, 253_402_300_799_999)
times = epochs_ms | epochs_ms.map(lambda ms: cbor2.CBORTag(1, ms))
records = st.fixed_dictionaries(
    {"SequenceNumber": st.integers(0, 10**128).map(str)},
    optional={
        "Data": st.binary(max_size=300),
        "PartitionKey": st.none() | texts,
        "ApproximateArrivalTimestamp": st.none() | times,
        "EncryptionType": st.none() | st.sampled_from(["NONE", "KMS"]),
    },
)
members = st.fixed_dictionaries(
    {"Records": st.lists(records, max_size=30), "MillisBehindLatest": st.integers(0, 2**63 - 1)},
    optional={"NextShardIterator": st.none() | texts, "ChildShards": st.none() | st.just([])},
)
RECORD = {
    "SequenceNumber": "4966",
    "Data": b"\x00\xffx",
    "PartitionKey": "k",
    "ApproximateArrivalTimestamp": cbor2.CBORTag(1, 1_790_000_000_123),
    "EncryptionType": "NONE",
}
PAGE = {"Records": [RECORD, RECORD], "MillisBehindLatest": 0, "NextShardIterator": "next"}
GOOD = cbor2.dumps(PAGE)
bodies = st.builds(lambda page, parts: cbor2.dumps(page, indefinite_containers=parts), members, st.booleans())


def compare(body: bytes, with_data: bool) -> bool:
    """Check that both decode *body* into the same page. Return whether native code recognised it."""
    found = native.decode_cbor_page(body, with_data)
    if found is None:
        return False
    page = Page(RecordColumns(found), found.millis_behind, found.next_iterator)
    assert facts(page) == facts(decode_page_in_python(body, with_data))
    return True


@given(bodies, st.booleans())
def test_pages_of_servers_are_recognised(body: bytes, with_data: bool) -> None:
    """Native code recognises pages of definite and of indefinite lengths, and finds in them what Python finds."""
    assert compare(body, with_data)


@given(mutated(GOOD) | bodies.flatmap(mutated) | st.binary(max_size=100), st.booleans())
@example(GOOD.replace(b"\x43\x00\xffx", b"\x5f\x43\x00\xffx\xff"), True)
def test_other_bodies_are_left_to_python(body: bytes, with_data: bool) -> None:
    """Of any body native code finds what Python finds. A body that Python refuses is one that it does not recognise."""
    try:
        compare(body, with_data)
    except MALFORMED:
        pytest.fail("native code recognises what Python refuses")


@pytest.mark.parametrize("name", PAGE)
def test_repeated_members_are_left_to_python(name: str) -> None:
    """A map with a name twice is not recognised, and Python refuses it."""
    body = b"\xa4" + GOOD[1:] + cbor2.dumps(name) + cbor2.dumps(PAGE[name])
    assert native.decode_cbor_page(body, True) is None
    with pytest.raises(MALFORMED):
        decode_page_in_python(body)
