"""The full-screen program."""

from __future__ import annotations

import asyncio
import signal
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from kinesis_cli.ending import Status
from kinesis_cli.live import ViewSource
from kinesis_cli.screens.live_screen import AccountScreen, StreamScreen
from kinesis_cli.signals import TerminatedError


class Top(App[BaseException | None]):
    """
    Shows one stream, or a list of all from which one is chosen.

    It returns None after `q`, and otherwise what ended it: TerminatedError, or our own error.
    """

    TITLE = "kinesis top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head { height: auto; padding: 0 1; }
    #problem { height: auto; padding: 0 1; color: $text-error; display: none; }
    #problem.shown { display: block; }
    #rows { height: auto; max-height: 1fr; }
    #rows > .datatable--cursor { background: $panel-lighten-2; }
    StreamScreen #rows { max-height: 55%; }
    #readers { height: auto; max-height: 35%; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]

    def __init__(self, source: ViewSource, stream: str | None = None, every_s: float = 1.0) -> None:
        super().__init__()
        self._source, self._stream, self._every_s = source, stream, every_s

    def on_mount(self) -> None:
        """Show the first screen."""
        loop = asyncio.get_running_loop()  # an exception that a handler raises would end in any task
        loop.add_signal_handler(signal.SIGINT, self.exit, TerminatedError(Status.INTERRUPTED))
        loop.add_signal_handler(signal.SIGTERM, self.exit, TerminatedError(Status.TERMINATED))
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup wants it
            loop.add_signal_handler(signal.SIGHUP, self.exit, TerminatedError(Status.HUNG_UP))
        if self._stream is None:
            self.push_screen(AccountScreen(self._source, self._every_s))
        else:
            self.push_screen(StreamScreen(self._source, self._stream, self._every_s))

    def action_interrupt(self) -> None:
        """End as after the signal SIGINT, which a terminal does not send while the program has it."""
        self.exit(TerminatedError(Status.INTERRUPTED))
