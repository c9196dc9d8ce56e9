"""The canned server works with the unmodified planner and reader."""

from __future__ import annotations

import pytest

from kinesis_core import PlanSettings, ReadSettings, Stream
from kinesis_credentials import StaticKeys
from kinesis_emulator.canned import CannedKinesis, CannedStream


@pytest.mark.parametrize("user_records", [0, 20])
def test_a_canned_stream_is_read_to_its_tip(user_records: int) -> None:
    """Planner and reader find every record of every shard once, and the next plan is at the end."""
    canned = CannedStream(shards=3, pages=4, records=250, record_bytes=60, user_records=user_records)
    with CannedKinesis(canned) as kinesis:
        stream = Stream.open(
            canned.name,
            region=canned.region,
            endpoint_url=kinesis.endpoint_url,
            credentials=StaticKeys("AKIAEXAMPLE", "example-secret"),
            plan=PlanSettings(min_fetch_period_s=0.0),
            read=ReadSettings(min_fetch_period_s=0.0),
        )
        batch = stream.read("TRIM_HORIZON")
        found = [(r.shard_id, r.sequence_number, r.sub_sequence_number) for r in batch.records()]
        assert len(found) == len(set(found)) == canned.total_rows
        assert list(stream.read(batch.offset).records()) == []
