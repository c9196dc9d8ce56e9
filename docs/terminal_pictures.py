"""
Draws the pictures of `kinesis shards`, `kinesis lag` and `kinesis top`: fixed values, drawn by the commands' own code.

    python -m docs.terminal_pictures
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from attrs import evolve, frozen
from rich.console import Console, RenderableType
from rich.segment import Segment, Segments
from rich.terminal_theme import SVG_EXPORT_THEME

from kinesis_cli.lag import ReaderLag, ShardLag, State, StreamLag, draw_lag
from kinesis_cli.lineage import Overview, choose, draw
from kinesis_cli.live import LiveReader, ShardLine, StreamView
from kinesis_cli.screens import Top
from kinesis_cli.stream_lines import StreamLine
from kinesis_cli.traffic import Sample
from kinesis_core.model import HASH_KEYS, ListedShard, StreamSummary

FOLDER = Path(__file__).parent / "pictures"
_EIGHTH = HASH_KEYS // 8
_ORDERS = StreamSummary(
    "orders",
    "arn:aws:kinesis:eu-west-1:111122223333:stream/orders",
    "ACTIVE",
    created_ms=0,
    retention_hours=24,
    is_encrypted=True,
    open_shards=4,
    consumers=1,
)
_AT_MS = 1_790_000_000_000
_TEMPLATE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" \
aria-labelledby="{unique_id}-title {unique_id}-desc">
<title id="{unique_id}-title">TITLE</title>
<desc id="{unique_id}-desc">DESCRIPTION</desc>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; \
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@frozen
class Picture:
    """A terminal as a file of SVG."""

    name: str
    command: str
    description: str
    lines: Sequence[RenderableType]
    width: int

    def svg(self) -> str:
        """Return the text of the file. It loads nothing."""
        console = Console(
            record=True, width=self.width, file=io.StringIO(), force_terminal=True, color_system="truecolor"
        )
        for line in self.lines:
            console.print(line, crop=False, end="" if isinstance(line, Segments) else "\n")
        template = _TEMPLATE.replace("TITLE", escape(self.command)).replace(
            "DESCRIPTION", escape(self.description)
        )
        drawn = console.export_svg(
            title=self.command, theme=SVG_EXPORT_THEME, code_format=template, unique_id=self.name
        )
        return re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE)


def pictures() -> list[Picture]:
    """Return all pictures."""
    return [_shards_picture(), _lag_picture(), _top_picture()]


def texts(svg: str) -> list[str]:
    """Return the text of a picture, without the spaces. It depends on the commands only; the rest also on rich and textual."""
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return [text for line in shown if (text := line.replace("&#160;", " ").strip())]


def _shard(number: int, start: int, end: int, *parents: int, is_open: bool = True) -> ListedShard:
    parent, adjacent = (*[f"shardId-{one:012d}" for one in parents], None, None)[:2]
    return ListedShard(
        f"shardId-{number:012d}",
        parent,
        adjacent,
        start * _EIGHTH,
        end * _EIGHTH - 1,
        starting_number=1,
        ending_number=None if is_open else 2,
    )


def _sample(records_per_s: int, record_bytes: int) -> Sample:
    return Sample(10 * records_per_s, 10 * records_per_s, 10 * records_per_s * record_bytes, 10_000)


_SHARDS = (
    _shard(0, 0, 2),
    _shard(1, 2, 4, is_open=False),
    _shard(2, 4, 6, is_open=False),
    _shard(3, 6, 8, is_open=False),
    _shard(4, 2, 3, 1),
    _shard(5, 3, 4, 1),
    _shard(6, 4, 8, 2, 3),
)
_SAMPLES = {
    _SHARDS[0].shard_id: _sample(312, 700),
    _SHARDS[4].shard_id: _sample(88, 650),
    _SHARDS[5].shard_id: _sample(968, 720),
    _SHARDS[6].shard_id: _sample(540, 710),
}


def _shards_picture() -> Picture:
    overview = Overview(_ORDERS, _SHARDS, 10_000, _SAMPLES)
    return Picture(
        "cli-shards",
        "kinesis shards orders",
        "A terminal: the facts of a stream, and its shards as a tree. Closed shards are dim. Each shard has a bar for its hash "
        "keys, and its rates. One shard is hot, with a load of 97 %.",
        draw(overview, choose(_SHARDS, _SAMPLES, None)),
        100,
    )


def _lag_picture() -> Picture:
    opened = [one.shard_id for one in _SHARDS if one.is_open]
    query = [
        ShardLag(opened[2], State.BEHIND, 754_000, "AFTER 49660174428731905187512345871786475682"),
        ShardLag(opened[1], State.BEHIND, 4200, "AFTER 49660174428731905187512345026140172434"),
        ShardLag(opened[0], State.CURRENT, 0, "AFTER 49660174428731905187512345719794475237"),
        ShardLag(opened[3], State.CURRENT, 0, "AFTER 49660174428731905187512345894941388210"),
    ]
    owners = ("worker-1", "worker-2", "worker-1", "worker-2")
    worker = [
        ShardLag(one.shard_id, State.CURRENT, 0, one.position, owner)
        for one, owner in zip(query, owners, strict=True)
    ]
    lag = StreamLag(
        stream="orders",
        arn=_ORDERS.arn,
        retention_ms=86_400_000,
        measured_ms=_AT_MS,
        readers=[
            ReaderLag(
                reader="checkpoints/reports",
                kind="spark",
                shards=query,
                batch=1841,
                planned=1842,
                committed_ms=_AT_MS - 4100,
            ),
            ReaderLag(reader="billing", kind="application", shards=worker, committed_ms=_AT_MS - 900),
        ],
    )
    return Picture(
        "cli-lag",
        "kinesis lag orders --checkpoint checkpoints/reports --application billing",
        "A terminal: two readers of a stream with their lag. A query of Spark is twelve minutes behind in one of four shards, and "
        "some seconds in another one. An application with two workers is current. Below them their positions in each shard.",
        draw_lag(lag, show_all=False),
        96,
    )


class _Scene:
    """A source of fixed values: those of two moments."""

    _calls = 0

    def streams(self) -> Sequence[StreamLine]:
        return [StreamLine("orders", _ORDERS)]

    def stream(self, name_or_arn: str) -> StreamView:
        opened = sorted((one for one in _SHARDS if one.is_open), key=lambda one: one.hash_start)
        lines = [
            ShardLine(one.shard_id, one.hash_start, one.hash_end, _SAMPLES[one.shard_id]) for one in opened
        ]
        earlier_ms = 0 if self._calls else 20_000
        self._calls += 1
        at_ms = _AT_MS - earlier_ms
        readers = (
            LiveReader("billing", "application", 850, "", at_ms, at_ms - 900),
            LiveReader("reports", "checkpoint", 754_000 + 2 * earlier_ms, "", at_ms, at_ms - 4100),
            LiveReader("fraud", "enhanced fan-out", status="ACTIVE"),
        )
        return StreamView(evolve(_ORDERS, name=name_or_arn), at_ms, tuple(lines), readers)


def _top_picture() -> Picture:
    size = (96, 16)
    return Picture(
        "cli-top",
        "kinesis top orders",
        "A terminal: the open shards of a stream, the busiest first, with records and bytes per second and a gauge of the load. "
        "Below them three readers with their lag and speed. One of them is twelve minutes behind, and catches up.",
        [Segments(_screen(size))],
        size[0],
    )


_LAST = {"3.0x", "~1,908/s", "~5,724/s", "Sort", "Pause", "Quit"}
"""What is shown last: values, once the columns are wide enough for them, and the keys in the line below."""


def _screen(size: tuple[int, int]) -> list[Segment]:
    """Return what the program shows once it has its values."""

    async def main() -> list[Segment]:
        app = Top(_Scene(), "orders", every_s=0.1)
        async with app.run_test(size=size) as pilot:
            while True:
                strips = app.screen._compositor.render_strips()
                if {word for strip in strips for word in strip.text.split()} >= _LAST:
                    return list(_segments(strips))
                await pilot.pause(0.01)

    return asyncio.run(main())


def _segments(strips: Iterable[Iterable[Segment]]) -> Iterable[Segment]:
    for strip in strips:
        for text, style, _ in strip:
            # textual's own metadata of a style is of no use in a file
            yield Segment(text, style.clear_meta_and_links() if style else style)
        yield Segment.line()


def main() -> None:
    """Draw all pictures."""
    for picture in pictures():
        (FOLDER / f"{picture.name}.svg").write_text(picture.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
