"""How far a long command is: one line on the standard error that is written over, if that is a terminal."""

from __future__ import annotations

import sys
import time

from attrs import define, field

from kinesis_cli.output.figures import show_bytes, show_count

_EVERY_S = 0.2


@define
class Progress:
    """
    Counts records and bytes, and shows them.

    Attributes:
        verb: What is done to the records, in the past tense, such as `written`.
    """

    verb: str
    records: int = 0
    size_bytes: int = 0
    _started_s: float = field(factory=time.monotonic, init=False)
    _shown_s: float = field(default=0.0, init=False)
    _is_shown: bool = field(factory=lambda: sys.stderr.isatty(), init=False)

    def add(self, records: int, size_bytes: int) -> None:
        """Count, and show the counts if some time has passed."""
        self.records += records
        self.size_bytes += size_bytes
        now_s = time.monotonic()
        if self._is_shown and now_s - self._shown_s >= _EVERY_S:
            self._shown_s = now_s
            sys.stderr.write(f"\r\33[K{self}")
            sys.stderr.flush()

    def end(self) -> None:
        """Show the last counts on a line of their own."""
        sys.stderr.write(f"\r\33[K{self}\n" if self._is_shown else f"{self}\n")
        sys.stderr.flush()

    def __str__(self) -> str:
        rate = self.records / max(time.monotonic() - self._started_s, 0.001)
        what = f"{show_count(self.records)} record{'s' * (self.records != 1)}"
        return f"{what} {self.verb}, {show_bytes(self.size_bytes)}, {show_count(rate)}/s"
