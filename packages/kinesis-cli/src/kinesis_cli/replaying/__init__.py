"""Files of recorded records become records of a stream again, at the pace at which they were recorded."""

from kinesis_cli.replaying.files import read_recorded
from kinesis_cli.replaying.pacing import keep_pace
from kinesis_cli.replaying.recorded import Recorded, decode_rows

__all__ = [
    "Recorded",
    "decode_rows",
    "keep_pace",
    "read_recorded",
]
