"""The server of prepared answers is good enough for the planner and the reader as they are."""

from __future__ import annotations

import pytest

from kinesis_core import Stream
from kinesis_credentials import StaticKeys
from kinesis_emulator.canned import CannedKinesis, CannedStream


@pytest.mark.parametrize("user_records", [0, 20])
def test_a_stream_is_read_to_its_tip_and_then_has_nothing_more(user_records: int) -> None:
    """Plan and reader find every record of every shard once, and the next plan finds the end."""
    prepared = CannedStream(shards=3, pages=4, records=250, record_bytes=60, user_records=user_records)
    with CannedKinesis(prepared) as kinesis:
        stream = Stream.open(
            prepared.name,
            region=prepared.region,
            endpoint_url=kinesis.endpoint_url,
            credentials=StaticKeys("AKIAEXAMPLE", "example-secret"),
        )
        batch = stream.read("TRIM_HORIZON")
        places = [(r.shard_id, r.sequence_number, r.sub_sequence_number) for r in batch.records()]
        assert len(places) == len(set(places)) == prepared.total_rows
        assert list(stream.read(batch.offset).records()) == []
