"""An emulator that `kinesis top` watches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from unit.kinesis_cli.live.watched_kinesis import WatchedKinesis, watched_kinesis


@pytest.fixture
def kinesis() -> Iterator[WatchedKinesis]:
    """Yield a Kinesis with one stream, `orders`, of two shards."""
    with watched_kinesis() as watched:
        watched.emulator.create_stream("orders", 2)
        yield watched
