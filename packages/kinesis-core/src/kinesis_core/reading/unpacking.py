"""The user records of a record, and the event `aggregate.undecoded`: a producer has written what nobody can decode."""

from __future__ import annotations

from attrs import define, field

from kinesis_core.aggregation import UserRecords, is_aggregate, unpack
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.model import Record
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

LOG_EVERY_S = 60.0


@define
class Unpacker:
    """Unpacks records. Of aggregates that are not decoded as a whole it logs one line a minute for each shard."""

    clock: Clock
    _logged_s: dict[tuple[str, str], float] = field(factory=dict, init=False)
    """When the last line was logged, by stream and shard."""

    def unpack(self, record: Record, stream: str, shard_id: str) -> UserRecords | None:
        """Return the user records of *record*, or None if it is one row as it is."""
        found = unpack(record.data)
        rows, undecoded = (1, 1) if found is None else (len(found.data), found.undecoded)
        if undecoded and (found is not None or is_aggregate(record.data)):
            self._log(record, stream, shard_id, rows, undecoded)
        return found

    def _log(self, record: Record, stream: str, shard_id: str, rows: int, undecoded: int) -> None:
        now_s = self.clock.now_s()
        self._logged_s = {shard: at_s for shard, at_s in self._logged_s.items() if now_s - at_s < LOG_EVERY_S}
        if (stream, shard_id) in self._logged_s:
            return
        self._logged_s[stream, shard_id] = now_s
        log.warning(
            "aggregate.undecoded",
            stream=stream,
            shard=shard_id,
            sequence=record.sequence_number,
            rows=rows,
            undecoded=undecoded,
        )


unpack_record = Unpacker(SystemClock()).unpack
"""As `Unpacker.unpack`, with the lines of the whole process counted together."""
