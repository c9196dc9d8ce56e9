"""How records are written in responses, in JSON and in CBOR."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kinesis_emulator import cbor
from kinesis_emulator.records import RecordLog, record_in_cbor, record_in_json

MEMBERS = ("SequenceNumber", "ApproximateArrivalTimestamp", "Data", "PartitionKey", "EncryptionType")
keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(
    st.integers(1, 10**56),
    st.integers(0, 253_402_300_799_999),
    st.binary(max_size=60),
    st.none() | keys,
    st.sampled_from(["NONE", "KMS"]),
    st.sets(st.sampled_from(["ApproximateArrivalTimestamp", "PartitionKey"])),
)
def test_a_record_is_the_same_in_both_formats(
    number: int, arrived_ms: int, data: bytes, key: str | None, encryption: str, omit: set[str]
) -> None:
    """Both have all members that are not left out, in the order of the service, with the values that were put."""
    expected: dict[str, Any] = dict(
        zip(MEMBERS, (str(number), cbor.Time(arrived_ms), data, key, encryption), strict=True)
    )
    absent = omit | ({"PartitionKey"} if key is None else set())
    absent |= {"EncryptionType"} if encryption == "NONE" else set()
    expected = {name: value for name, value in expected.items() if name not in absent}
    in_json = record_in_json(str(number), arrived_ms, base64.b64encode(data).decode(), key, encryption, omit)
    assert list(cbor.decode(record_in_cbor(in_json)).items()) == list(expected.items())
    found = json.loads(in_json)
    found["Data"] = base64.b64decode(found["Data"])
    if "ApproximateArrivalTimestamp" in found:
        assert (
            f"{found['ApproximateArrivalTimestamp']:.3f}" == f"{arrived_ms // 1000}.{arrived_ms % 1000:03d}"
        )
        found["ApproximateArrivalTimestamp"] = cbor.Time(arrived_ms)
    assert list(found.items()) == list(expected.items())


@given(st.lists(st.tuples(st.sampled_from(["put", "free", "read"]), st.integers(0, 30), st.integers(0, 30))))
def test_records_that_were_read_in_cbor_are_the_same_again(steps: list[tuple[str, int, int]]) -> None:
    """Whatever was put, read and freed in between: each index has its own record in both formats."""
    log = RecordLog()
    for step, low, high in steps:
        if step == "put":
            for _ in range(low):
                log.append(record_in_json(str(log.end), 1, "dGVh", "key"), 3, arrived_ms=1)
        elif step == "free":
            log.free(low)
        else:
            start, stop = max(low, log.first), min(max(low, high, log.first), log.end)
            numbers = [str(index) for index in range(start, stop)]
            in_cbor = [cbor.decode(one) for one in log.fragments(start, stop, "cbor")]
            assert [one["SequenceNumber"] for one in in_cbor] == numbers
            assert [json.loads(one)["SequenceNumber"] for one in log.fragments(start, stop)] == numbers


def test_a_record_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that is read again in CBOR is the one that was made before."""
    log = RecordLog()
    log.append(record_in_json("1", 1, "dGVh", "key"), 3, arrived_ms=1)
    log.append(record_in_json("2", 1, "dGVh", "key"), 3, arrived_ms=1)
    [first] = log.fragments(0, 1, "cbor")
    monkeypatch.setattr("kinesis_emulator.records.record_in_cbor", lambda _: b"new")
    assert log.fragments(0, 2, "cbor") == [first, b"new"]
    assert log.fragments(0, 2, "cbor")[0] is first
