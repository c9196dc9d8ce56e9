"""What the demo shows while it runs: live on a terminal, line by line elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from demo.ledger import Ledger
from demo.producer import Producer
from demo.shards import HASH_KEYS, Shards, ShownShard

REFRESH_S = 0.25
LINE_EVERY_S = 3.0
BAR = 24


class Screen:
    """
    Shows phases one after the other, with what producer, stream and query are doing.

    Args:
        console: Where to.
        phases: The headings of all phases, in order.
    """

    def __init__(
        self, console: Console, phases: Sequence[str], ledger: Ledger, producer: Producer, shards: Shards
    ) -> None:
        self._console = console
        self._phases = phases
        self._phase = -1
        self._ledger = ledger
        self._producer = producer
        self._shards = shards
        self._started_s = time.monotonic()
        self._line_s = 0.0
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self.query: StreamingQuery | None = None

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
        if not self._live:
            self._console.print(f"[bold]{self._phase + 1}. {self._phases[self._phase]}[/]")

    def watch(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """
        Show what happens for so many seconds, or until something is true; returns whether it is.

        Raises what made the producer or the query fail.
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
        failure = self.query.exception() if self.query else None
        if failure:
            raise failure

    def _refresh(self) -> None:
        if self._live:
            self._live.update(self._render(), refresh=True)
        elif time.monotonic() - self._line_s > LINE_EVERY_S:
            self._line_s = time.monotonic()
            still_open = sum(shard.is_open for shard in self._shards.show())
            self._console.print(f"   {self._numbers()}, shards {still_open} open", highlight=False)

    def _numbers(self) -> str:
        put, counted = self._ledger.total_put, self._ledger.total_counted
        return f"put {put:,}, counted {counted:,}, batches {self._ledger.batches}, {self._behind()}"

    def _behind(self) -> str:
        if self.query is None or not self.query.isActive:
            return "query stopped"
        progress = self.query.lastProgress
        lag = json.loads(progress.sources[0].latestOffset or "null") if progress else None
        return f"{lag['maxMsBehindLatest']:,} ms behind" if lag else "query running"

    def _render(self) -> RenderableType:
        return Group(
            Panel(self._render_phases(), title="Kinesis to Spark, exactly once", title_align="left"),
            Panel(self._render_counts(), title="records", title_align="left"),
            Panel(self._render_shards(), title="shards of the stream sightings", title_align="left"),
        )

    def _render_phases(self) -> Text:
        lines = Text()
        for index, phase in enumerate(self._phases):
            mark, style = ("✓", "dim") if index < self._phase else (" ", "dim")
            if index == self._phase:
                mark, style = "▶", "bold cyan"
            lines.append(f"{mark} {phase}\n", style)
        lines.append(f"{time.monotonic() - self._started_s:3.0f} s", "dim")
        return lines

    def _render_counts(self) -> Table:
        put, counted = self._ledger.total_put, self._ledger.total_counted
        table = Table.grid(padding=(0, 2))
        kinds = (
            f"[dim]{self._producer.singles:,} one by one, {self._producer.aggregated:,} in KPL aggregates[/]"
        )
        table.add_row("put", f"[bold]{put:>9,}[/]", kinds)
        table.add_row("counted", f"[bold]{counted:>9,}[/]", ProgressBar(max(put, 1), counted, width=40))
        table.add_row("batches", f"[bold]{self._ledger.batches:>9,}[/]", f"[dim]{self._behind()}[/]")
        return table

    def _render_shards(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("shard", "from", "hash keys", "state"):
            table.add_column(heading)
        table.add_column("put", justify="right")
        for shard in self._shards.show():
            state = "[green]open[/]" if shard.is_open else "[dim]closed[/]"
            style = "" if shard.is_open else "dim"
            parents = " + ".join(map(_number, shard.parents)) or "-"
            put = f"{self._producer.by_shard[shard.shard_id]:,}"
            table.add_row(_number(shard.shard_id), parents, _bar(shard), state, put, style=style)
        return table


def _number(shard_id: str) -> str:
    return str(int(shard_id.rpartition("-")[2]))


def _bar(shard: ShownShard) -> str:
    first, last = shard.hash_start * BAR // HASH_KEYS, shard.hash_end * BAR // HASH_KEYS
    return "".join("█" if first <= place <= last else "·" for place in range(BAR))
