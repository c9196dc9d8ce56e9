"""The list of streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, cast

from rich.text import Text
from textual.widgets import DataTable, Static

from kinesis_cli.live import StreamLine
from kinesis_cli.output import show_count
from kinesis_cli.screens.cells import stream_cells
from kinesis_cli.screens.live_screen import LiveScreen
from kinesis_cli.screens.stream import StreamScreen


class AccountScreen(LiveScreen):
    """All streams of the account and region. Enter opens one."""

    COLUMNS = ("STREAM", "STATUS", "MODE", "SHARDS", "CONSUMERS", "RETENTION")
    _ORDERS: ClassVar[tuple[Callable[[StreamLine], object], ...]] = (
        lambda line: line.name,
        lambda line: -line.summary.open_shards if line.summary else 0,
    )
    _order = 0

    def fetch(self) -> Sequence[StreamLine]:
        """Call the source. Runs in a thread."""
        return self.source.streams()

    def fill(self, latest: object) -> None:
        """Show the streams."""
        lines = sorted(cast(Sequence[StreamLine], latest), key=self._ORDERS[self._order])  # type: ignore[arg-type]
        head = Text(f"{show_count(len(lines))} streams. Enter opens one.")
        head.append("  PAUSED" if self.is_paused else "", "bold yellow")
        self.query_one("#head", Static).update(head)
        self.fill_rows({line.name: stream_cells(line) for line in lines})

    def next_order(self) -> None:
        """Sort by name, then by the number of shards."""
        self._order = (self._order + 1) % len(self._ORDERS)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open a stream."""
        if event.row_key.value is not None:
            self.app.push_screen(StreamScreen(self.source, event.row_key.value, self.every_s))
