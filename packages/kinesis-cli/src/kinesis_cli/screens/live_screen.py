"""The screens of an account and of a stream, and what they have in common: a thread that calls the source, pausing and sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from kinesis_cli.live import Pump, Speeds, StreamView, ViewSource
from kinesis_cli.output import show_count
from kinesis_cli.screens.cells import reader_cells, shard_cells, stream_cells, stream_head
from kinesis_cli.stream_lines import StreamLine
from kinesis_cli.wording import in_words_of_commands
from kinesis_core import KinesisError

T = TypeVar("T")
RIGHT = {"RECORDS/S", "BYTES/S", "SHARDS", "CONSUMERS", "RETENTION", "LAG", "COMMITTED", "SPEED", "OUT"}
"""Headings above numbers."""
_EXPECTED = (KinesisError, OSError)
"""Errors that users can act on, or that pass. They are shown, and the call is made again."""


class LiveScreen(Screen[None]):
    """A screen that is filled again and again with what its source returns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Sort"),
        Binding("p", "pause", "Pause"),
    ]
    COLUMNS: ClassVar[tuple[str, ...]]
    """Headings of the table `rows`."""
    ORDERS: ClassVar[tuple[Callable[[Any], Any], ...]]
    """The keys by which rows can be sorted, one after the other."""

    class Fetched(Message):
        """The source has returned something, or raised an error."""

        def __init__(self, result: object) -> None:
            super().__init__()
            self.result = result

    def __init__(self, source: ViewSource, every_s: float) -> None:
        super().__init__()
        self.source, self.every_s = source, every_s
        self.is_paused = False
        self._pump: Pump[object] = Pump(
            self.fetch, lambda result: self.post_message(self.Fetched(result)), every_s
        )
        self._latest: object = None
        self._order = 0

    def fetch(self) -> object:
        """Call the source. Runs in a thread."""
        raise NotImplementedError

    def fill(self, latest: object) -> None:
        """Show what the source has returned."""
        raise NotImplementedError

    def in_order(self, values: Iterable[T]) -> list[T]:
        """Return *values* as the user wants them sorted."""
        return sorted(values, key=self.ORDERS[self._order])

    def compose(self) -> ComposeResult:
        """Make the parts of the screen."""
        yield Static("Reading ...", id="head")
        yield Static(id="problem")
        yield DataTable(id="rows", cursor_type="row", cursor_foreground_priority="renderable")
        yield Footer()

    @property
    def rows(self) -> DataTable[Text]:
        """The table of the screen."""
        return self.query_one("#rows", DataTable)

    def on_mount(self) -> None:
        """Start the thread."""
        for label in self.COLUMNS:
            self.rows.add_column(Text(label, justify="right" if label in RIGHT else "left"))
        self.rows.focus()
        self._pump.start()

    def on_unmount(self) -> None:
        """Let the thread end after its call."""
        self._pump.stop()

    def on_screen_suspend(self) -> None:
        """Make no calls while another screen is above this one."""
        self._pump.pause()

    def on_screen_resume(self) -> None:
        """Make calls again."""
        if not self.is_paused:
            self._pump.resume()

    def on_live_screen_fetched(self, message: Fetched) -> None:
        """Show a result, or an error above the last one."""
        if not self.query("#problem"):
            return  # the program is ending
        problem = self.query_one("#problem", Static)
        if isinstance(message.result, _EXPECTED):
            problem.update(Text(in_words_of_commands(message.result)))
            problem.add_class("shown")
        elif isinstance(message.result, Exception):
            self.app.exit(message.result)
        else:
            problem.remove_class("shown")
            self._latest = message.result
            self.fill(message.result)

    def action_pause(self) -> None:
        """Stop or continue to call the source."""
        self.is_paused = not self.is_paused
        if self.is_paused:
            self._pump.pause()
        else:
            self._pump.resume()
        self._refill()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._order = (self._order + 1) % len(self.ORDERS)
        self._refill()

    def fill_rows(self, rows: dict[str, list[Text]]) -> None:
        """Replace the rows of the table, by key. The cursor stays on its key, and the view where it is."""
        table = self.rows
        at = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value if table.row_count else None
        top = table.scroll_y
        table.clear()
        for key, cells in rows.items():
            table.add_row(*cells, key=key)
        if at in rows:
            table.move_cursor(row=table.get_row_index(at), scroll=False)
        table.scroll_to(y=top, animate=False)

    def _refill(self) -> None:
        if self._latest is not None:
            self.fill(self._latest)


class AccountScreen(LiveScreen):
    """All streams of the account and region. Enter opens one."""

    COLUMNS = ("STREAM", "STATUS", "MODE", "SHARDS", "CONSUMERS", "RETENTION")
    ORDERS = (
        lambda line: line.name,
        lambda line: -line.summary.open_shards if line.summary else 0,
    )

    def fetch(self) -> Sequence[StreamLine]:
        """Call the source. Runs in a thread."""
        return self.source.streams()

    def fill(self, latest: object) -> None:
        """Show the streams."""
        lines = self.in_order(cast("Sequence[StreamLine]", latest))
        head = Text(f"{show_count(len(lines))} streams. Enter opens one.")
        head.append("  PAUSED" if self.is_paused else "", "bold yellow")
        self.query_one("#head", Static).update(head)
        self.fill_rows({line.name: stream_cells(line) for line in lines})

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open a stream."""
        if event.row_key.value is not None:
            self.app.push_screen(StreamScreen(self.source, event.row_key.value, self.every_s))


class StreamScreen(LiveScreen):
    """The open shards of a stream, how much comes in, and who reads."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "Streams", show=False)]
    COLUMNS = ("SHARD", "HASH KEYS", "RECORDS/S", "BYTES/S", "LOAD", "")
    ORDERS = (lambda line: -line.load, lambda line: line.hash_start)

    def __init__(self, source: ViewSource, stream: str, every_s: float) -> None:
        self._stream = stream
        self._speeds = Speeds()
        super().__init__(source, every_s)

    def compose(self) -> ComposeResult:
        """Make the parts of the screen."""
        yield from super().compose()
        yield DataTable(id="readers", cursor_type="none")

    def on_mount(self) -> None:
        """Set up the table of readers."""
        readers = self.query_one("#readers", DataTable)
        for label in ("READER", "BY", "STATUS", "LAG", "COMMITTED", "SPEED", "OUT"):
            readers.add_column(Text(label, justify="right" if label in RIGHT else "left"))
        readers.can_focus = False
        readers.display = False

    def fetch(self) -> StreamView:
        """Call the source. Runs in a thread."""
        return self.source.stream(self._stream)

    def fill(self, latest: object) -> None:
        """Show the stream."""
        view = cast("StreamView", latest)
        self.query_one("#head", Static).update(stream_head(view, is_paused=self.is_paused))
        self.fill_rows({line.shard_id: shard_cells(line) for line in self.in_order(view.shards)})
        self._speeds.note(view.readers)
        readers = self.query_one("#readers", DataTable)
        readers.display = bool(view.readers)
        readers.clear()
        for reader in view.readers:
            readers.add_row(*reader_cells(reader, self._speeds.of(reader.name), view))

    def action_back(self) -> None:
        """Return to the list of streams, if this screen was opened from it."""
        if len(self.app.screen_stack) > 2:
            self.app.pop_screen()
