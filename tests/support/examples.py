"""How many examples the property tests try. The quick loops try a share of those of the session `everything`."""

from __future__ import annotations

import os

SHARE = float(os.environ.get("EXAMPLES_SHARE", "1"))


def examples(count: int) -> int:
    """Return how many examples a test tries here that has *count* in the session `everything`."""
    return max(1, round(count * SHARE))
