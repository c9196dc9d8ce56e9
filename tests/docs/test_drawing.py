"""Plots and tables that the programs in docs make from the findings of benchmarks."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from docs.drawing import draw
from docs.generate_benchmarks import BENCHMARKS, PAGE, PAGES, render
from tests.bench.harness import Note, Plot, Row

PLOT = Plot(
    "reading",
    "CPU of reading",
    "bytes of a record",
    "microseconds of CPU per record",
    {
        "ours": [(100, 2.0), (1_000, 7.5), (10_000, 44.0)],
        "by hand": [(100, 23.0), (1_000, 33.0), (10_000, 120.0)],
    },
    log="xy",
)


def test_the_same_points_are_drawn_as_the_same_bytes(tmp_path: Path) -> None:
    """The same findings draw the same file, byte for byte."""
    first, second = (draw(PLOT, tmp_path / name).read_bytes() for name in ("first", "second"))
    assert first == second


def test_a_plot_says_what_it_shows(tmp_path: Path) -> None:
    """A plot has its title, the labels of both axes with their units, and the name of each line as text."""
    path = draw(PLOT, tmp_path)
    texts = {element.text for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314 # our own file
    assert texts >= {PLOT.title, PLOT.x, PLOT.y, *PLOT.lines, "1,000"}


def test_rows_of_one_group_are_one_table() -> None:
    """A section names the machine and the date of the measurement. In all tables a higher gain is better. Memory has a column where it was measured. A note is printed between the tables of two groups."""
    rows = [
        Row("reading, against boto3", "100 B", "µs", 2.0, 23.0, 11.5, 11.0),
        Row("reading, against boto3", "1 KB", "µs", 7.5, 33.0, 4.4, 5.0),
        Row("planning", "idle", "calls", 1200.0, 1000.0, 1.2, 1.5, is_cost=True, memory_mb=(98.0,)),
        Row("planning", "busy", "calls", 1200.0, 1000.0, 1.2, None, is_cost=True),
    ]
    machine, reading, note, planning = render([*rows[:2], Note("Half of it is TLS."), *rows[2:]]).split(
        "\n\n"
    )
    assert "cores" in machine
    assert reading.startswith("| reading | unit | this project | boto3 | gain | target |  |\n")
    assert planning.startswith(
        "| planning | unit | this project | compared with | gain | target |  | memory, MB |\n"
    )
    assert "| 100 B | µs | 2 | 23 | 11.5 | at least 11 | met |" in reading
    assert "| 1 KB | µs | 7.5 | 33 | 4.4 | at least 5 | **missed** |" in reading
    assert note == "Half of it is TLS."
    assert "| idle | calls | 1,200 | 1,000 | 0.83 | at least 0.667 | met | 98 |" in planning
    assert planning.endswith("| busy | calls | 1,200 | 1,000 | 0.83 |  |  |  |")


def test_every_benchmark_has_its_section_on_the_page() -> None:
    """Every benchmark has a section on its page."""
    for path in BENCHMARKS.glob("bench_*.py"):
        name = path.stem.removeprefix("bench_")
        page = PAGES.get(name, PAGE).read_text(encoding="utf-8")
        assert page.count(f"<!-- {name} -->\n") == page.count(f"<!-- /{name} -->\n") == 1
