"""Words that are never cut, because people copy them: ids, names and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

_ANY_WIDTH = 10_000


@frozen
class WholeLine:
    """One line, however long it is."""

    text: str
    style: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        yield Segment(self.text, console.get_style(self.style))
        yield Segment.line()


@frozen
class WholeTable:
    """
    A table whose words are never cut.

    Cells are wrapped between words, unless their column forbids it. On a terminal that is still too narrow the lines are
    longer than the terminal is wide.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement

        wide = options.update(max_width=_ANY_WIDTH)
        for column in self.table.columns:
            measured = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
            column.min_width = max(each.maximum if column.no_wrap else each.minimum for each in measured)
        narrowest = Measurement.get(console, wide, self.table).minimum
        yield from console.render(self.table, options.update(max_width=max(options.max_width, narrowest)))
