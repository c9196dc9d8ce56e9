"""What the screens have in common: a thread that calls the source, a line for errors, pausing and sorting."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from kinesis_cli.live import Pump, Source
from kinesis_cli.wording import in_words_of_commands
from kinesis_core import KinesisError
from kinesis_credentials import CredentialsError

RIGHT = {"RECORDS/S", "BYTES/S", "SHARDS", "CONSUMERS", "RETENTION", "LAG", "SPEED", "OUT"}
"""Headings above numbers."""
_EXPECTED = (KinesisError, CredentialsError, OSError)
"""Errors that users can act on, or that pass. They are shown, and the call is made again."""


class LiveScreen(Screen[None]):
    """A screen that is filled again and again with what its source returns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Sort"),
        Binding("p", "pause", "Pause"),
    ]
    COLUMNS: ClassVar[tuple[str, ...]]
    """Headings of the table `rows`."""

    class Fetched(Message):
        """The source has returned something, or raised an error."""

        def __init__(self, result: object) -> None:
            super().__init__()
            self.result = result

    def __init__(self, source: Source, every_s: float) -> None:
        super().__init__()
        self.source, self.every_s = source, every_s
        self.is_paused = False
        self._pump: Pump[object] = Pump(
            self.fetch, lambda result: self.post_message(self.Fetched(result)), every_s
        )
        self._latest: object = None

    def fetch(self) -> object:
        """Call the source. Runs in a thread."""
        raise NotImplementedError

    def fill(self, latest: object) -> None:
        """Show what the source has returned."""
        raise NotImplementedError

    def next_order(self) -> None:
        """Sort the rows by the next column."""
        raise NotImplementedError

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
        self.next_order()
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
