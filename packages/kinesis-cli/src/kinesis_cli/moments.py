"""Points in time as people type them: `10m` for ten minutes ago, an ISO 8601 time, `now`, or a position of Kinesis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kinesis_cli.ending import UsageError
from kinesis_cli.wording import in_words_of_commands

if TYPE_CHECKING:
    from kinesis_core import EndingPosition, StartingPosition
    from kinesis_core.options import Parser

_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)", re.IGNORECASE)
_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_EXAMPLES = "Examples: 10m (ten minutes ago), 2026-01-31T09:00:00Z"


def parse_start(text: str, option: str, now_ms: int) -> StartingPosition:
    """
    Return the position that *text* names, to start at.

    Raises:
        UsageError: It names none. The message names *option*.
    """
    from kinesis_core.options import starting_position

    position: StartingPosition = _parse(text, option, now_ms, starting_position(), "TRIM_HORIZON, LATEST")
    return position


def parse_end(text: str, option: str, now_ms: int) -> EndingPosition:
    """
    Return the position that *text* names, to end at.

    Raises:
        UsageError: It names none. The message names *option*.
    """
    from kinesis_core.options import ending_position

    position: EndingPosition = _parse(text, option, now_ms, ending_position(), "now")
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


def _parse(text: str, option: str, now_ms: int, parser: Parser[Any], words: str) -> Any:
    from kinesis_core import AtTimestamp, OffsetError
    from kinesis_core.options import BadValueError

    if (ago_ms := parse_ago(text)) is not None:
        return AtTimestamp(max(0, now_ms - ago_ms))
    try:
        return parser.parse("LATEST" if text.lower() == "now" else text)
    except BadValueError as error:
        raise UsageError(
            f"{option} does not accept '{text}'. {_EXAMPLES}, {words}. {in_words_of_commands(error.hint)}".rstrip()
        ) from error
    except OffsetError as error:
        raise UsageError(f"{option} does not accept an offset. {in_words_of_commands(error)}") from error


def parse_ago(text: str) -> int | None:
    """Return the milliseconds that *text* such as `10m` names; None if it is not such a text."""
    match = _AGO.fullmatch(text.strip())
    return None if match is None else round(float(match[1]) * _MS[match[2].lower()])


_SHORTEST_MS, _LONGEST_MS = 1000, 3_600_000


def parse_sample(text: str) -> int:
    """
    Return the milliseconds that the value of --sample names.

    Raises:
        UsageError: It names none, or is not within 1 s to 1 h.
    """
    sample_ms = parse_ago(text)
    if sample_ms is None or not _SHORTEST_MS <= sample_ms <= _LONGEST_MS:
        raise UsageError(f"--sample is '{text}'. Use a time of 1s to 1h, such as 30s or 5m.")
    return sample_ms
