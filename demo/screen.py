"""The screen of the demo: live on a terminal, line by line elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from attrs import define, field
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from demo.counts import Counts
from demo.producer import Producer
from demo.query import Queries
from demo.shards import Shards, ShownShard
from kinesis_cli.lineage import bar

REFRESH_S = 0.25
LINE_EVERY_S = 3.0
BAR = 24
FRAMES = 11
"""Lines other than phases and shards: three frames, three lines of numbers, a heading, and the cursor's line."""


@define
class Screen:
    """Shows the phases and the state of producer, streams and queries."""

    _console: Console
    _phases: Sequence[str]
    """The headings of all phases, in order."""
    _counts: Counts
    _producer: Producer
    _queries: Queries
    _shards: Shards
    _phase: int = field(default=-1, init=False)
    _started_s: float = field(factory=time.monotonic, init=False)
    _line_s: float = field(default=0.0, init=False)
    _live: Live | None = field(init=False)

    @_live.default
    def _make_live(self) -> Live | None:
        return Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None

    def __enter__(self) -> Screen:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()

    def next_phase(self) -> None:
        self._phase += 1
        if self._live:
            self._refresh()
        else:
            self._console.print(f"[bold]{self._phase + 1}. {self._phases[self._phase]}[/]")

    def watch(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """
        Refresh the screen for *seconds*, or until *until* is true. Return whether it is.

        Raises:
            Exception: The producer or a query failed with it.
        """
        deadline_s = time.monotonic() + seconds
        while not until() and time.monotonic() < deadline_s:
            self._refresh()
            self._raise_failures()
            time.sleep(REFRESH_S)
        self._refresh()
        return until()

    def _raise_failures(self) -> None:
        if self._producer.error:
            raise self._producer.error
        for query in self._queries.both:
            failure = query.exception()
            if failure:
                raise failure

    def _refresh(self) -> None:
        if self._live:
            self._live.update(self._render(), refresh=True)
        elif time.monotonic() - self._line_s > LINE_EVERY_S:
            self._line_s = time.monotonic()
            still_open = sum(shard.is_open for shard in self._shards.show())
            self._console.print(f"   {self._numbers()}, {still_open} shards open", highlight=False)

    def _numbers(self) -> str:
        put, counted, (copied, _) = self._counts.total_put, self._counts.total_counted, self._queries.copied()
        state = _state(self._queries.count)
        return f"put {put:,}, counted {counted:,}, copied {copied:,}, {state}"

    def _render(self) -> RenderableType:
        return Group(
            Panel(self._render_phases(), title="stream to Spark to stream", title_align="left"),
            Panel(self._render_counts(), title="records", title_align="left"),
            Panel(self._render_shards(), title="shards of the first stream", title_align="left"),
        )

    def _render_phases(self) -> Text:
        lines = Text()
        for index, phase in enumerate(self._phases):
            mark, style = ("✓", "dim") if index < self._phase else (" ", "dim")
            if index == self._phase:
                mark, style = "▶", "bold cyan"
                phase += f" ({time.monotonic() - self._started_s:.0f} s)"
            lines.append(f"{mark} {phase}\n", style)
        lines.rstrip()
        return lines

    def _render_counts(self) -> Table:
        put, counted, (copied, batches) = (
            self._counts.total_put,
            self._counts.total_counted,
            self._queries.copied(),
        )
        table = Table.grid(padding=(0, 2))
        singles, aggregated = self._producer.singles, self._producer.aggregated
        table.add_row(
            "put", f"[bold]{put:>9,}[/]", f"[dim]{singles:,} one by one, {aggregated:,} in KPL aggregates[/]"
        )
        for name, done, its_batches, query in (
            ("counted", counted, self._counts.batches, self._queries.count),
            ("copied", copied, batches, self._queries.copy),
        ):
            progress = Table.grid(padding=(0, 2))
            progress.add_row(
                ProgressBar(max(put, 1), done, width=BAR), f"[dim]{its_batches} batches, {_state(query)}[/]"
            )
            table.add_row(name, f"[bold]{done:>9,}[/]", progress)
        return table

    def _render_shards(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("shard", "from", "hash keys", "state"):
            table.add_column(heading)
        table.add_column("put", justify="right")
        for shard in self._fitting(self._shards.show()):
            state = "[green]open[/]" if shard.is_open else "[dim]closed[/]"
            style = "" if shard.is_open else "dim"
            parents = " + ".join(map(_number, shard.parents)) or "-"
            put = f"{self._producer.by_shard[shard.shard_id]:,}"
            table.add_row(
                _number(shard.shard_id),
                parents,
                bar(shard.hash_start, shard.hash_end, BAR),
                state,
                put,
                style=style,
            )
        return table

    def _fitting(self, shards: list[ShownShard]) -> list[ShownShard]:
        """Return the *shards* that fit on the screen: all open ones, and the newest of the closed ones."""
        room = self._console.height - len(self._phases) - FRAMES - sum(shard.is_open for shard in shards)
        closed = [shard for shard in shards if not shard.is_open]
        shown = closed[len(closed) - max(0, min(room, len(closed))) :]
        return [shard for shard in shards if shard.is_open or shard in shown]


def _state(query: StreamingQuery | None) -> str:
    if query is None or not query.isActive:
        return "stopped"
    progress = query.lastProgress
    lag = json.loads(progress.sources[0].latestOffset or "null") if progress else None
    return f"{lag['maxMsBehindLatest']:,} ms behind" if lag else "running"


def _number(shard_id: str) -> str:
    return str(int(shard_id.rpartition("-")[2]))
