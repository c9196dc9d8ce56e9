"""
Stalls: a shard that brings empty pages for a while, none of them closer to the tip.

Empty pages do not prove a loss. A planner or reader that gets many of them checks whether records have expired. Where none has, or
where nothing can be read that would show it, it waits. After a long time it raises an error. This is not a loss either.
"""

from __future__ import annotations

from attrs import define, field

from kinesis_core.errors import UnavailableError
from kinesis_core.model import Cut
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

LONGEST_S = 600.0
"""A stall that is watched for longer is an error."""
LOG_EVERY_S = 60.0
"""The time between two warnings of one stall."""
STEP_S = 60.0
"""The maximum time that one check adds: two short stalls an hour apart, at the time of two plans, are not one stall of an hour."""
NO_PROGRESS = "NoProgress"
"""The code of the error."""


@define
class Stall:
    """For how long one shard has been watched without records or progress."""

    stream: str
    shard_id: str
    _watched_s: float = field(default=0.0, init=False)
    _looked_s: float | None = field(default=None, init=False)
    """The time of the last look; None while there is no stall."""
    _logged_s: float | None = field(default=None, init=False)

    @property
    def is_on(self) -> bool:
        return self._looked_s is not None

    def goes_on(self, cut: Cut, pages: int, since_s: float, now_s: float) -> None:
        """
        Note that *pages* in a row after *cut* were empty, although nothing is lost. Log it at first, and once a minute.

        *since_s*: when the last page came that was not empty or made progress. Only the first look of a stall uses it.

        Raises:
            UnavailableError: The stall lasts too long.
        """
        self._watched_s += min(STEP_S, now_s - (since_s if self._looked_s is None else self._looked_s))
        self._looked_s = now_s
        if self._watched_s >= LONGEST_S:
            raise self.error(cut, pages)
        if self._logged_s is None or self._watched_s - self._logged_s >= LOG_EVERY_S:
            self._logged_s = self._watched_s
            for_s = round(self._watched_s)
            log.warning("shard.stalled", stream=self.stream, shard=self.shard_id, for_s=for_s, pages=pages)

    def ends(self) -> None:
        """Note that the shard can be read."""
        self._watched_s, self._looked_s, self._logged_s = 0.0, None, None

    def error(self, cut: Cut, pages: int) -> UnavailableError:
        return UnavailableError(
            f"Shard {self.shard_id} of {self.stream}: Kinesis returned only empty pages after {cut} for {self._watched_s:.0f} s "
            f"({pages} in a row), and the tip came no closer. Nothing is lost as far as can be seen. Start again later: reading "
            "continues there. If it lasts, ask AWS about this shard.",
            code=NO_PROGRESS,
            stream=self.stream,
            shard=self.shard_id,
            cut=cut,
        )
