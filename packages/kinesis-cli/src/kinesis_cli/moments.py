"""
Points in time as people type them: `10m` for ten minutes ago, an ISO 8601 time, `now`, or a position of Kinesis.

A date, or a time without a zone, is in UTC: a command that is copied to another machine reads the same records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinesis_cli.ending import UsageError
from kinesis_cli.wording import in_words_of_commands

if TYPE_CHECKING:
    from kinesis_core import EndingPosition, StartingPosition
    from kinesis_core.options import Parser

_ZONE = "Z"
_EXAMPLES = (
    "Examples: 10m (ten minutes ago), 2026-01-31 or 2026-01-31T09:00 (in UTC), 2026-01-31T09:00:00+02:00"
)


def parse_start(text: str, option: str, now_ms: int) -> StartingPosition:
    """
    Return the position that *text* names, to start at.

    Raises:
        UsageError: It names none. The message names *option*.
    """
    from kinesis_core.options import starting_position

    position: StartingPosition = _parse(
        text, option, starting_position(lambda: now_ms, _ZONE), "TRIM_HORIZON, LATEST"
    )
    return position


def parse_end(text: str, option: str, now_ms: int) -> EndingPosition:
    """
    Return the position that *text* names, to end at.

    Raises:
        UsageError: It names none. The message names *option*.
    """
    from kinesis_core.options import ending_position

    position: EndingPosition = _parse(text, option, ending_position(lambda: now_ms, _ZONE), "now")
    return position


def refuse_future(end: EndingPosition | None, text: str | None, now_ms: int, advice: str) -> None:
    """
    Refuse to end at a time that has not come yet: the command does not wait for it.

    Raises:
        UsageError: *end*, which the user typed as *text*, is such a time.
    """
    if is_to_come(end, now_ms):
        raise UsageError(f"--until is '{text}'. Use a time in the past. {advice}")


def is_to_come(end: EndingPosition | None, now_ms: int) -> bool:
    from kinesis_core import AtTimestamp

    return isinstance(end, AtTimestamp) and end.epoch_ms > now_ms


def _parse(text: str, option: str, parser: Parser[Any], words: str) -> Any:
    from kinesis_core import OffsetError
    from kinesis_core.options import BadValueError

    try:
        return parser.parse("LATEST" if text.lower() == "now" else text.strip())
    except BadValueError as error:
        raise UsageError(
            f"{option} does not accept '{text}'. {_EXAMPLES}, {words}. {in_words_of_commands(error.hint)}".rstrip()
        ) from error
    except OffsetError as error:
        raise UsageError(f"{option} does not accept an offset. {in_words_of_commands(error)}") from error


def parse_duration_ms(text: str) -> int | None:
    """Return the milliseconds that *text* such as `10m` names; None if it is not such a text."""
    from kinesis_core.options import BadValueError, parse_duration

    try:
        return round(parse_duration(text.strip()) * 1000)
    except BadValueError:
        return None


_SHORTEST_MS, _LONGEST_MS = 1000, 3_600_000


def parse_sample(text: str) -> int:
    """
    Return the milliseconds that the value of --sample names.

    Raises:
        UsageError: It names none, or is not within 1 s to 1 h.
    """
    sample_ms = parse_duration_ms(text)
    if sample_ms is None or not _SHORTEST_MS <= sample_ms <= _LONGEST_MS:
        raise UsageError(f"--sample is '{text}'. Use a time of 1s to 1h, such as 30s or 5m.")
    return sample_ms
