"""Draws the plots of docs/benchmarks.md as SVG. The same points give the same bytes, readable on white and on black."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from tests.bench.harness import Plot

FOLDER = Path(__file__).parent / "plots"
_INCHES = (7.2, 3.6)
_GREY = "#777777"
"""Equally far from white and from black."""
_COLOURS = ("#2f81f7", "#e3702e", "#2da44e", "#a371f7", "#d0455f")
_MARKERS = "osD^v"
_STYLE = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "plots",  # otherwise ids are random
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), _GREY
    ),
}


def draw(plot: Plot, folder: Path = FOLDER) -> Path:
    """Draw *plot* and return the path of the file."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{plot.name}.svg"
    with mpl.rc_context(_STYLE):  # type: ignore[arg-type, unused-ignore] # its names of settings are their own type
        _figure(plot).savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
    return path


def _figure(plot: Plot) -> Figure:
    figure = Figure(_INCHES, layout="constrained")
    axes = figure.add_subplot(title=plot.title, xlabel=plot.x, ylabel=plot.y)
    for (name, points), colour, marker in zip(plot.lines.items(), _COLOURS, _MARKERS, strict=False):
        ordered = sorted(points)
        axes.plot([x for x, _ in ordered], [y for _, y in ordered], color=colour, marker=marker, label=name)
    if "x" in plot.log:
        axes.set_xscale("log")
        axes.set_xticks(sorted({x for points in plot.lines.values() for x, _ in points}))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(_label))
    if "y" in plot.log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(_label))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure


def _label(value: float, _: int | None) -> str:
    return f"{value:,.10g}"
