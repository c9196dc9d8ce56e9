"""
What DescribeStreamSummary returns for a stream, and for how long its records were kept while somebody changes the retention.

The call is made again when the facts may have changed: 20 calls/s serve a whole account.
"""

from __future__ import annotations

import threading

from attrs import define, field

from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import StreamRecreatedError
from kinesis_core.model import HOUR_MS, StreamSummary, show_time
from kinesis_credentials import Advice

KNOWN_S = 600.0
"""How long a summary is used. The retention may change while a query runs; AWS takes minutes for that, too."""
_STAMPS = 4
"""How often per retention the offset of an idle shard is written again. Each time costs one empty batch."""
_LONGEST_HOURS = 8760
"""The longest retention. Source: https://docs.aws.amazon.com/streams/latest/dev/kinesis-extended-retention.html"""
_HOUR_S = 3600
_MARGIN_S = 60
"""Two clocks that show the same hours may differ by as much."""


@define
class KeptHours:
    """
    For how many hours back from now no record can have expired, as far as the retention was seen.

    A retention that is raised brings nothing back: the stream then reaches back as far as before, and an hour further with each hour.
    One that is lowered counts at once. Between two times when it was seen, the shorter one may have been in force until the second.
    """

    _hours: int = field(default=_LONGEST_HOURS, init=False)
    """The retention that was seen last."""
    _horizon_s: float = field(default=float("-inf"), init=False)
    """Records that arrived before this time may have expired."""

    def see(self, hours: int, now_s: float) -> None:
        """Note that the retention is *hours*, or was when somebody looked last before now."""
        self._horizon_s = max(self._horizon_s, now_s - min(hours, self._hours) * _HOUR_S)
        self._hours = hours

    def at(self, now_s: float) -> int:
        """Return the hours, at least one."""
        return max(1, int(min(self._hours, (now_s - self._horizon_s + _MARGIN_S) // _HOUR_S)))


@define
class StreamFacts:
    """The facts of one stream during plans: its retention, and that it is still the same stream."""

    name: str
    api: StreamApi
    clock: Clock
    _created_ms: int | None = field(default=None, init=False)
    """Creation time of the stream that is read; None while it is not known."""
    _summary: StreamSummary | None = field(default=None, init=False)
    _described_s: float = field(default=0.0, init=False)
    started_ms: int = field(default=0, init=False)
    """The service's time when reading started."""
    _is_of_this_plan: bool = field(default=False, init=False)
    """Whether the stream was described since the current plan started."""
    _kept: KeptHours = field(factory=KeptHours, init=False)
    _offset_hours: int | None = field(default=None, init=False)
    """The hours of the last offset that was read or written."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def begin(self) -> int:
        """Return the creation time of the stream; reading starts now."""
        self._created_ms = None
        self._created_ms = self._describe().created_ms
        self.started_ms = self.api.now_ms()
        return self._created_ms

    def begin_plan(self, created_ms: int, kept_hours: int | None = None) -> None:
        """
        Check that the stream is the one created at *created_ms*. *kept_hours* are those of the offset where the plan starts.

        Raises:
            StreamRecreatedError: It is another one.
        """
        self._created_ms, self._is_of_this_plan = created_ms, False
        if kept_hours is not None and kept_hours != self._offset_hours:
            self._offset_hours = kept_hours
            self._kept.see(kept_hours, self.clock.now_s())  # nobody looked since the offset was written
        if self.summary().created_ms != created_ms:
            self._describe()

    def summary(self) -> StreamSummary:
        """Return the facts, at most some minutes old."""
        is_old = self.clock.now_s() - self._described_s > KNOWN_S
        return self._describe() if self._summary is None or is_old else self._summary

    def retention_hours(self) -> int:
        """Return the retention, at most some minutes old."""
        return self.summary().retention_hours

    def known_retention_hours(self) -> int | None:
        """Return the retention as it was described last, without a call; None before the first one."""
        return None if self._summary is None else self._summary.retention_hours

    def kept_hours(self) -> int:
        """Return for how many hours records are certainly kept, by what was seen of the retention until some minutes ago."""
        self.summary()
        return self.known_kept_hours()

    def known_kept_hours(self) -> int:
        """Return the same, as far as it is known without a call."""
        return self._kept.at(self.clock.now_s())

    def current_kept_hours(self) -> int:
        """Return the same, with the retention described during this plan: records may have expired by a new one."""
        if not self._is_of_this_plan:
            self._describe()
        return self.kept_hours()

    def stamp_ms(self) -> int:
        """Return after how long the time in the offset of an idle shard is written again."""
        return self.kept_hours() * HOUR_MS // _STAMPS

    def hours_to_save(self) -> int:
        """Return `kept_hours` for an offset that is written now."""
        self._offset_hours = self.kept_hours()
        return self._offset_hours

    def see_same_stream(self) -> None:
        """
        Check that the stream is still the same, where a response leaves that open. One check per plan is enough.

        Raises:
            StreamRecreatedError: It was deleted and created again.
            StreamNotFoundError: It was deleted.
        """
        with self._lock:  # several threads may meet iterators that expire together
            if self._is_of_this_plan and self._summary is not None:
                self._check(self._summary)
            else:
                self._describe()

    def is_ahead(self, epoch_ms: int, margin_ms: int) -> bool:
        """Return whether a time is later than now, by more than *margin_ms*. A call shows the service's clock before it is true."""
        if epoch_ms <= self.api.now_ms() + margin_ms:
            return False
        with self._lock:
            self._describe()  # our own clock may have been set back since the last response
        return epoch_ms > self.api.now_ms() + margin_ms

    def _describe(self) -> StreamSummary:
        summary = self.api.describe()
        self._summary, self._described_s, self._is_of_this_plan = summary, self.clock.now_s(), True
        self._check(summary)
        self._kept.see(summary.retention_hours, self._described_s)
        return summary

    def _check(self, summary: StreamSummary) -> None:
        if self._created_ms is not None and self._created_ms != summary.created_ms:
            raise StreamRecreatedError(
                f"Stream {self.name} was deleted and created again. The saved offset belongs to the stream created at "
                f"{show_time(self._created_ms)}; the present stream was created at {show_time(summary.created_ms)}.",
                advice=Advice.START_ANEW,
                stream=self.name,
            )
