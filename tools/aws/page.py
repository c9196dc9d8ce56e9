"""Write the generated sections of docs/howto/day-on-aws.md: `python -m tools.aws.page [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from docs.sections import render_rows, update
from support.paths import ROOT
from tools.aws import policy
from tools.aws.kit import FULL
from tools.aws.plan import STEPS, planned
from tools.aws.prices import AS_OF, CHEAPEST, ELSEWHERE, PRICES, cost, table

PAGE = ROOT / "docs" / "howto" / "day-on-aws.md"


def sections() -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the sections of the page."""
    region = CHEAPEST[0]
    rows = (
        (f"`{step.name}`", step.what, f"{step.limit_s / 60:.0f}", f"${cost(step.usage(FULL), region):.2f}")
        for step in STEPS
    )
    yield "steps", render_rows(("step", "what it does or asks", "minutes at most", "cost at most"), rows)
    usage = planned(STEPS, FULL)
    costs = [*table(usage, region), ("together", "", "", f"${cost(usage, region):.2f}")]
    pages = ", ".join(f"<{page}>" for page in sorted({price.page for price in PRICES.values()}))
    yield (
        "costs",
        [
            *render_rows(("unit", "amount", "price", "cost"), costs),
            "",
            f"These are the prices of {', '.join(CHEAPEST)} in {AS_OF}. Those of other regions are taken as {ELSEWHERE} times as high. "
            "They were not read from AWS's pages, which are the sources to trust.",
            f"See {pages}.",
        ],
    )
    yield "policy", ("```json", policy.text(), "```")


if __name__ == "__main__":
    sys.exit(update(PAGE, dict(sections()), sys.argv[1:]))
