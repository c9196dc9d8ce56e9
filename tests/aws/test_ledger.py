"""The ledger: what it keeps, whatever happens to its writer, and the budget."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tools.aws.ledger import BudgetError, Ledger, Resource, RunningError, ledgers, run_of
from tools.aws.prices import CHEAPEST, ELSEWHERE, PRICES, add, cost, put_units

NewLedger = Callable[..., Ledger]
ONE, TWO = Resource("stream", "one"), Resource("table", "two")


def test_what_was_to_be_created_is_left_until_it_is_gone(new_ledger: NewLedger) -> None:
    """Resources are in the order of their creation. One that was created again is left again."""
    ledger = new_ledger()
    ledger.creating(ONE)
    ledger.creating(TWO)
    assert ledger.left() == [ONE, TWO]
    ledger.gone(ONE)
    assert ledger.left() == [TWO]
    ledger.creating(ONE)
    assert set(ledger.left()) == {ONE, TWO}


def test_a_line_that_was_cut_off(new_ledger: NewLedger) -> None:
    """A kill in the middle of a write costs that entry only."""
    ledger = new_ledger()
    ledger.creating(ONE)
    with ledger.path.open("ab") as file:
        file.write(b'{"creating": {"kind": "stre')
    assert ledger.left() == [ONE]


def test_another_version_is_refused(new_ledger: NewLedger) -> None:
    """A ledger of another version is not guessed at."""
    ledger = new_ledger()
    ledger.path.write_text(ledger.path.read_text().replace('"version": 1', '"version": 9'))
    with pytest.raises(ValueError, match=r"version 9; this program reads 1"):
        _ = ledger.run


def test_nothing_is_used_beyond_the_budget(new_ledger: NewLedger) -> None:
    """What would exceed the budget is refused and not counted. What just fits is accepted."""
    ledger = new_ledger(budget_usd=0.031)
    ledger.use({"shard_hours": 1})
    ledger.use({"shard_hours": 1})
    with pytest.raises(BudgetError, match=r"\$0\.04 would be spent, and the budget is \$0\.03"):
        ledger.use({"shard_hours": 1})
    assert ledger.spent_usd() == pytest.approx(0.03)


def test_one_process_has_the_lock(new_ledger: NewLedger) -> None:
    """A run that goes on cannot be cleaned."""
    ledger = new_ledger()
    with ledger.lock(), pytest.raises(RunningError, match="still going on"):
        ledger.lock()
    ledger.lock().close()


def test_ledgers_are_found(new_ledger: NewLedger) -> None:
    """Each run in the folder is found."""
    made = {new_ledger().run.id for _ in range(3)}
    assert {found.run.id for found in ledgers(new_ledger().folder.parent)} > made


def test_a_name_says_its_run(new_ledger: NewLedger) -> None:
    """Only names with the prefix and the id of a run belong to it."""
    run = new_ledger().run
    assert run_of(f"{run.prefix}stream") == run.id
    assert run_of("kinesis-day-of-reckoning") is None
    assert run.owns(f"{run.prefix}stream")
    assert not run.owns("kinesis-day-000000000000-stream")


def test_costs() -> None:
    """Each unit costs its price, elsewhere more. A record takes a unit for each begun 25 KB."""
    usage = dict.fromkeys(PRICES, 1.0)
    cheap = sum(price.usd / price.per for price in PRICES.values())
    assert cost(usage, CHEAPEST[0]) == pytest.approx(cheap)
    assert cost(usage, "eu-central-1") == pytest.approx(cheap * ELSEWHERE)
    assert add({"a": 1}, {"a": 2, "b": 3}) == {"a": 3, "b": 3}
    assert [put_units(size) for size in (0, 1, 25 * 1024, 25 * 1024 + 1)] == [1, 1, 1, 2]
