"""The servers that a scenario runs against, and the ways of reading."""

from __future__ import annotations

import pytest

from kinesis_emulator import Emulator

FAN_OUT = {"consumerType": "SubscribeToShard", "fanOutFallback": "false"}
"""Tasks do not poll: without a subscription they fail."""

both_ways = pytest.mark.parametrize("endpoint_url", ["emulator", "fan-out"], indirect=True)
"""Runs a test by polling and by enhanced fan-out."""
KINESIS_LOCAL = pytest.param("kinesis-local", marks=pytest.mark.witness)
MOTO = pytest.param("moto", marks=pytest.mark.witness)
witnessed = pytest.mark.parametrize("endpoint_url", ["emulator", "fan-out", KINESIS_LOCAL], indirect=True)
"""Like `both_ways`, and by polling an independent server, so that our emulator cannot prove itself right."""


def unsubscribed(emulator: Emulator, stream: str) -> set[str]:
    """Return the shards of *stream* that have records and were never subscribed to."""
    shards = {record.shard_id for record in emulator.records(stream)}
    return {shard for shard in shards if not emulator.calls.count("SubscribeToShard", stream, shard)}
