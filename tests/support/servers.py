"""Which servers a scenario runs against, and how it reads from them."""

from __future__ import annotations

import pytest

from kinesis_emulator import Emulator

FAN_OUT = {"consumerType": "SubscribeToShard", "fanOutFallback": "false"}
"""Nothing is polled by tasks: what they cannot subscribe to fails."""

both_ways = pytest.mark.parametrize("endpoint_url", ["emulator", "fan-out"], indirect=True)
"""Runs a test polling, and by enhanced fan-out."""
_WITNESS = pytest.param("kinesis-local", marks=pytest.mark.witness)
witnessed = pytest.mark.parametrize("endpoint_url", ["emulator", "fan-out", _WITNESS], indirect=True)
"""As `both_ways`, and polling an independent server, so that ours cannot prove itself right."""


def unsubscribed(emulator: Emulator, stream: str) -> set[str]:
    """Return the shards of *stream* that have records and were never subscribed to."""
    shards = {record.shard_id for record in emulator.records(stream)}
    return {shard for shard in shards if not emulator.calls.count("SubscribeToShard", stream, shard)}
