"""The worker that creates missing leases in a group without a leader."""

from __future__ import annotations

from attrs import evolve

from kinesis_consumer.assignment import elect_auditor
from support.shared_leases import make_lease


def test_it_is_the_one_that_a_kcl_chooses() -> None:
    """
    What Java's `Collections.shuffle(names, new Random(1947))` puts first, for groups of 1 to 12 workers, and of 1,000.

    With another choice, either two workers or nobody would look for missing leases.
    """
    groups = [[f"w{chr(ord('a') + number)}" for number in range(count)] for count in range(1, 13)]
    chosen = [elect_auditor([make_lease(i, name) for i, name in enumerate(names)]) for names in groups]
    assert chosen == ["wa", "wa", "wc", "wd", "we", "wc", "wc", "wc", "wd", "wi", "wg", "wj"]
    assert elect_auditor([make_lease(number, f"w{number:03}") for number in range(1000)]) == "w748"


def test_only_owners_count_each_once() -> None:
    """The order of the leases does not matter. A worker is about to have a lease that is being handed over to it."""
    leases = [make_lease(0, "wc"), make_lease(1, "wa"), make_lease(2, None), make_lease(3, "wa")]
    assert elect_auditor([*leases, evolve(make_lease(4, "wb"), checkpoint_owner="wa")]) == "wc"
    assert elect_auditor(make_lease(number, None) for number in range(2)) is None
