"""What has happened to the lines, and the words for it."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from kinesis_cli.output import show_count

_NAMED = 20
"""Lines that are named in the last line."""


@define
class Counts:
    """The lines of one command."""

    put: int = 0
    """Records that were given to the producer."""
    put_bytes: int = 0
    not_written: int = 0
    empty: int = 0
    places: list[str] = field(factory=list)
    """The first of the lines that were not written."""
    last: str = ""
    """The last line that was given to the producer."""

    def refuse(self, place: str) -> None:
        """Count a line that is not written."""
        self.not_written += 1
        if len(self.places) < _NAMED:
            self.places.append(place)

    def summary(self, stream: str, written: int, resent: int) -> str:
        """Return the last line of the command."""
        parts = [f"{_records(written)} written to {stream}"]
        if self.not_written:
            parts.append(f"{show_count(self.not_written)} not written ({self._named()})")
        if self.empty:
            parts.append(f"{show_count(self.empty)} empty line{'s' * (self.empty != 1)} skipped")
        if resent:
            parts.append(f"{show_count(resent)} sent again, which may be in the stream twice")
        return ", ".join(parts)

    def _named(self) -> str:
        more = self.not_written - len(self.places)
        return name_places(self.places) + (f" and {show_count(more)} more" if more else "")


def _records(count: int) -> str:
    return f"{show_count(count)} record{'s' * (count != 1)}"


def name_places(places: Sequence[str]) -> str:
    """Return the names of lines: `line 3`, `lines 3, 17` of the standard input, `a.jsonl:3` of files."""
    is_of_stdin = all(place.isdigit() for place in places)
    return (f"line{'s' * (len(places) != 1)} " if is_of_stdin else "") + ", ".join(places)


def place_of(source: str, number: int) -> str:
    """Return how a line is named: by its number, after the name of its file. A whole file has the number 0."""
    if not number:
        return source or "standard input"
    return f"{source}:{number}" if source else str(number)
