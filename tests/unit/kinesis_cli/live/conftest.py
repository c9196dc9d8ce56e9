"""An emulator that `kinesis top` watches, without a screen. Its own clock says when something is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from attrs import define, evolve, field

from kinesis_cli.live import KinesisSource, LiveReader, ReadersOf, StreamView, no_readers
from kinesis_core.aws import Connection, RetryPolicy
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Fault, Limits, Request, Settings
from support.fake_stream import FakeClock
from support.streams import KEY_ID, SECRET

_LATER_S = 31.0
"""After this time everything is listed again."""
_MOST = 500
"""Records that are put at most until one is seen."""
_ONE_ATTEMPT = RetryPolicy(max_retries=0, outage_timeout_s=0.0)


@define
class WatchedKinesis:
    """The emulator, the source of the screens, and the clock of the source."""

    emulator: Emulator
    readers_of: ReadersOf = no_readers
    clock: FakeClock = field(factory=FakeClock)
    source: KinesisSource = field(init=False)

    @source.default
    def _make_source(self) -> KinesisSource:
        return KinesisSource(self._connect, self._connect_to_account, self._readers_of, self.clock)

    def _readers_of(self, name: str) -> Sequence[LiveReader]:
        return self.readers_of(name)

    def _connect(self, name: str) -> Connection:
        keys = StaticKeys(KEY_ID, SECRET)
        connection = Connection.to_stream(
            name,
            region=self.emulator.settings.region,
            endpoint_url=self.emulator.endpoint_url,
            credentials=keys,
        )
        return evolve(connection, retry=_ONE_ATTEMPT)

    def _connect_to_account(self) -> Connection:
        return evolve(self._connect("any"), streams=())

    def see(self, stream: str = "orders", after_s: float = 1.0) -> StreamView:
        """Let time pass, and return what the screen shows then."""
        self.clock.now += after_s
        return self.source.stream(stream)

    def see_later(self, stream: str = "orders") -> StreamView:
        """The same after so much time that everything is listed again."""
        return self.see(stream, _LATER_S)

    def names_later(self) -> list[str]:
        """Return the streams that are listed, after so much time that they are listed again."""
        self.clock.now += _LATER_S
        return [line.name for line in self.source.streams()]

    def see_records(self, stream: str, hash_key: int, shard_id: str) -> int:
        """Put records until one of them is seen in *shard_id*, and return how many were seen."""
        for _ in range(_MOST):
            self.emulator.put(stream, b"1", explicit_hash_key=hash_key)
            samples = {line.shard_id: line.sample for line in self.see(stream).shards}
            if (sample := samples[shard_id]) is not None and sample.records:
                return sample.records
        raise AssertionError(f"{_MOST} records were put, and none was seen in {shard_id}")

    def reads(self, stream: str, shard_id: str | None = None) -> int:
        """Return how often records were read."""
        return self.emulator.calls.count("GetRecords", stream, shard_id)

    @contextmanager
    def failing(self, code: str, fails: Callable[[Request], bool]) -> Iterator[None]:
        """Let calls fail within the block."""
        fault = Fault(code=code, status=500 if code == "InternalFailure" else 400)
        self.emulator.settings.fault = lambda request: fault if fails(request) else None
        try:
            yield
        finally:
            self.emulator.settings.fault = None


@pytest.fixture
def kinesis() -> Iterator[WatchedKinesis]:
    """Yield a Kinesis with one stream, `orders`, of two shards. Time passes for the source only, so it counts no rates."""
    with Emulator(settings=Settings(limits=Limits.unlimited())) as emulator:
        emulator.create_stream("orders", 2)
        yield WatchedKinesis(emulator)
