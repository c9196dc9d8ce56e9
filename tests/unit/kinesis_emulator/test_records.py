"""How records are written in responses, in JSON and in CBOR."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kinesis_emulator import cbor
from kinesis_emulator.records import RecordLog, write_record
from kinesis_emulator.wire_formats import WireFormat

keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(
    st.integers(1, 10**56).map(str),
    st.none() | st.integers(0, 253_402_300_799_999),
    st.binary(max_size=60),
    st.none() | keys,
    st.sampled_from(["NONE", "KMS"]),
)
def test_a_record_is_the_same_in_both_formats(
    number: str, arrived_ms: int | None, data: bytes, key: str | None, encryption: str
) -> None:
    """In either, it has the members that it was put with, in the order of the service. The other is made from it."""
    members = {
        "SequenceNumber": number,
        "ApproximateArrivalTimestamp": None if arrived_ms is None else cbor.Time(arrived_ms),
        "Data": data,
        "PartitionKey": key,
        "EncryptionType": None if encryption == "NONE" else encryption,
    }
    expected = [(name, value) for name, value in members.items() if value is not None]
    written = [
        write_record(number, arrived_ms, payload, key, encryption)
        for payload in (base64.b64encode(data).decode(), data)
    ]
    (_, in_json), (_, in_cbor) = written
    assert [wire_format for wire_format, _ in written] == ["json", "cbor"]
    assert list(cbor.decode(in_cbor).items()) == expected
    found = json.loads(in_json)
    found["Data"] = base64.b64decode(found["Data"])
    if arrived_ms is not None:
        assert (
            f"{found['ApproximateArrivalTimestamp']:.3f}" == f"{arrived_ms // 1000}.{arrived_ms % 1000:03d}"
        )
        found["ApproximateArrivalTimestamp"] = cbor.Time(arrived_ms)
    assert list(found.items()) == expected
    log = RecordLog()
    for record in written:
        log.append(record, len(data), 1)
    assert log.fragments(0, 2) == [in_json, in_json]
    assert log.fragments(0, 2, "cbor") == [in_cbor, in_cbor]


STEPS = st.sampled_from(["put", "put in CBOR", "free", "read", "read in CBOR"])


@given(st.lists(st.tuples(STEPS, st.integers(0, 30), st.integers(0, 30))))
def test_each_index_has_its_own_record(steps: list[tuple[str, int, int]]) -> None:
    """Whatever was put, read and freed before, in either format."""
    log = RecordLog()
    for step, low, high in steps:
        match step:
            case "put":
                log.append(write_record(str(log.end), 1, "dGVh", "key"), 3, 1)
            case "put in CBOR":
                log.append(write_record(str(log.end), 1, b"tea", "key"), 3, 1)
            case "free":
                log.free(low)
            case _:
                start, stop = max(low, log.first), min(max(low, high, log.first), log.end)
                found: list[Any] = (
                    [json.loads(one) for one in log.fragments(start, stop)]
                    if step == "read"
                    else [cbor.decode(one) for one in log.fragments(start, stop, "cbor")]
                )
                assert [one["SequenceNumber"] for one in found] == [str(i) for i in range(start, stop)]


@pytest.mark.parametrize(("payload", "read"), [("dGVh", "cbor"), (b"tea", "json")])
def test_a_record_is_translated_once(payload: str | bytes, read: WireFormat) -> None:
    """A record that is read again in the other format is the one that was made before, and the one that was put stays."""
    log = RecordLog()
    put, written = write_record("1", 1, payload)
    log.append((put, written), 3, 1)
    [translated] = log.fragments(0, 1, read)
    assert translated != written
    assert log.fragments(0, 1, read)[0] is translated
    assert log.fragments(0, 1, put)[0] is written
