"""Calls for many items at once."""

from __future__ import annotations

import pytest

from kinesis_cli.parallel import call_each
from unit.few_threads import FewThreads


@pytest.mark.parametrize("allowed", [1, 4])
def test_results(monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    """The function is called once for each item, also by the only thread that there is."""
    FewThreads(allowed).allow(monkeypatch)
    assert sorted(call_each(str, range(9), 4)) == [str(number) for number in range(9)]
    assert call_each(str, [], 4) == []
