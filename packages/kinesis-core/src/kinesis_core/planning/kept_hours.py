"""For how many hours records were certainly kept, while somebody changes the retention of their stream."""

from __future__ import annotations

from attrs import define, field

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
