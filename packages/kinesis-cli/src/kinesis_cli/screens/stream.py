"""One stream: its shards and its readers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Static

from kinesis_cli.live import ShardLine, Source, Speeds, StreamView
from kinesis_cli.screens.cells import reader_cells, shard_cells, stream_head
from kinesis_cli.screens.live_screen import RIGHT, LiveScreen


class StreamScreen(LiveScreen):
    """The open shards of a stream, how much comes in, and who reads."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "Streams", show=False)]
    COLUMNS = ("SHARD", "HASH KEYS", "RECORDS/S", "BYTES/S", "LOAD", "")
    _ORDERS: ClassVar[tuple[Callable[[ShardLine], float], ...]] = (
        lambda line: -line.load,
        lambda line: line.hash_start,
    )
    _order = 0

    def __init__(self, source: Source, stream: str, every_s: float) -> None:
        self._stream = stream
        self._speeds = Speeds()
        super().__init__(source, every_s)

    def compose(self) -> ComposeResult:
        """Make the parts of the screen."""
        yield Static("Reading ...", id="head")
        yield Static(id="problem")
        yield DataTable(id="rows", cursor_type="row", cursor_foreground_priority="renderable")
        yield DataTable(id="readers", cursor_type="none")
        yield Footer()

    def on_mount(self) -> None:
        """Set up the table of readers."""
        readers = self.query_one("#readers", DataTable)
        for label in ("READER", "BY", "STATUS", "LAG", "SPEED", "OUT"):
            readers.add_column(Text(label, justify="right" if label in RIGHT else "left"))
        readers.can_focus = False
        readers.display = False

    def fetch(self) -> StreamView:
        """Call the source. Runs in a thread."""
        return self.source.stream(self._stream)

    def fill(self, latest: object) -> None:
        """Show the stream."""
        view = cast(StreamView, latest)
        self.query_one("#head", Static).update(stream_head(view, is_paused=self.is_paused))
        lines = sorted(view.shards, key=self._ORDERS[self._order])
        self.fill_rows({line.shard_id: shard_cells(line) for line in lines})
        self._speeds.note(view.readers, view.at_ms)
        readers = self.query_one("#readers", DataTable)
        readers.display = bool(view.readers)
        readers.clear()
        for reader in view.readers:
            readers.add_row(*reader_cells(reader, self._speeds.of(reader.name), view.records_per_s))

    def next_order(self) -> None:
        """Sort by load, then by hash keys."""
        self._order = (self._order + 1) % len(self._ORDERS)

    def action_back(self) -> None:
        """Return to the list of streams, if this screen was opened from it."""
        if len(self.app.screen_stack) > 2:
            self.app.pop_screen()
