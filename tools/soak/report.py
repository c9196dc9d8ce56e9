"""Reports the results of a soak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.soak.load import LOOK_EVERY, RECORD_BYTES, ROUND_RECORDS, SHARDS, Measured
from tools.soak.verdict import JUDGED, MEMORY_KIB_PER_1000, NOISE, Look, Trend, kinds, leaks, trends

COLUMNS = (
    ("files", "open files"),
    ("sockets", "sockets"),
    ("threads", "threads"),
    ("processes", "processes"),
)

ALL_IS_WELL = (
    "Nothing of this project grows. Between the two medians these differences are noise: "
    f"{NOISE.memory_kib:,} KiB of memory, or {MEMORY_KIB_PER_1000:,} KiB per 1,000 steps if that is more; {NOISE.files} files; "
    f"{NOISE.sockets} sockets; {NOISE.threads} threads; {NOISE.processes} processes."
)


def complaints(measured: Measured) -> list[str]:
    """Return the problems: resources that grow, and records that were not read exactly once."""
    found = [f"over batches, {leak}" for leak in leaks(measured.batches)]
    found += [f"over restarts, {leak}" for leak in leaks(measured.restarts)]
    for what, looks in (("batches", measured.batches), ("restarts", measured.restarts)):
        found += [f"over {what}, {kind} was not measured" for kind in sorted(JUDGED - kinds(looks))]
    if measured.rows != measured.records:
        found.append(f"{measured.records} records were put, but {measured.rows} read")
    elif measured.sums != sums_of(measured.records):
        found.append(f"as many records were read as were put, {measured.records}, but not the same")
    return found


def sums_of(records: int) -> tuple[int, int]:
    """Return the sums of the first numbers, and of their squares."""
    return sum(range(records)), sum(number * number for number in range(records))


def describe(measured: Measured, day: str) -> str:
    """Return the section of the page."""
    batches, restarts = measured.batches[-1].step, measured.restarts[-1].step + 1
    lines = [
        f"{day}: {measured.hours:.2f} hours, {restarts} restarts of a query from its checkpoint, then {batches:,} batches "
        f"of one run, all in one session; {measured.records:,} records of {RECORD_BYTES:,} bytes in {SHARDS} shards, {ROUND_RECORDS} at a time, "
        f"each read exactly once and written to a second stream. Measured every {LOOK_EVERY} batches and at every restart. "
        "Each cell shows two medians: second third → last third of the measurements. Memory is the private memory of the "
        "largest process of its kind. The JVM's memory is its heap, which belongs to Spark.",
        *_of_impatience(measured.impatience),
        "",
        "### Over batches",
        "",
        *_table(measured.batches, 1000, "batches"),
        "",
        "### Over restarts",
        "",
        *_table(measured.restarts, 50, "restarts"),
    ]
    found = complaints(measured)
    return "\n".join([*lines, "", *(f"**{text}**" for text in found or [ALL_IS_WELL])])


def _of_impatience(times: int) -> Iterator[str]:
    if times:
        yield f"The query was restarted {times} more times, because a new Python process took more than 10 s to start."


def _table(looks: Sequence[Look], per: int, what: str) -> Iterator[str]:
    yield f"| process | memory, KiB | growth per {per:,} {what}, KiB | {' | '.join(name for _, name in COLUMNS)} |"
    yield "| --- |" + " ---: |" * (2 + len(COLUMNS))
    found: dict[str, dict[str, Trend]] = {}
    for trend in trends(looks):
        found.setdefault(trend.kind, {})[trend.quantity] = trend
    for kind, by_quantity in sorted(found.items()):
        memory = by_quantity.get("memory_kib")
        cells = [_cell(memory), f"{memory.growth_per(per):+,.0f}"] if memory else ["-", "-"]
        cells += [_cell(by_quantity[quantity]) for quantity, _ in COLUMNS]
        yield f"| {kind} | {' | '.join(cells)} |"


def _cell(trend: Trend) -> str:
    return f"{trend.before:,.0f} → {trend.after:,.0f}"
