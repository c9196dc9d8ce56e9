"""Who holds bytes, and who gets them next."""

from __future__ import annotations

from kinesis_core.budget import ByteAccounts


def test_asks_wait_for_room_in_their_order() -> None:
    """Who asks for more than is left waits, and so does a smaller ask after it: a large page never starves."""
    accounts = ByteAccounts(100)
    accounts.ask(1, 90)
    accounts.ask(2, 50)
    accounts.ask(3, 5)
    assert [accounts.is_waiting(holder) for holder in (1, 2, 3)] == [False, True, True]
    accounts.put(1, 40)
    assert [accounts.held(holder) for holder in (1, 2, 3)] == [40, 50, 5]


def test_who_holds_bytes_goes_first() -> None:
    """A call that is under way gets its room before one that is not made yet."""
    accounts = ByteAccounts(100)
    accounts.ask(1, 60)
    accounts.ask(2, 20)
    accounts.ask(3, 30)
    accounts.ask(2, 50)
    accounts.put(1, 45)
    assert accounts.held(2) == 50
    assert accounts.is_waiting(3)


def test_one_page_is_always_allowed() -> None:
    """With nothing in memory, a page larger than the limit is read, and the next one only after it."""
    accounts = ByteAccounts(10)
    accounts.ask(1, 1000)
    accounts.ask(2, 1000)
    assert accounts.used_bytes == 1000
    accounts.put(1, 500)
    assert accounts.used_bytes == 500
    accounts.put(1, 0)
    assert accounts.held(2) == 1000


def test_the_first_goes_on_if_all_wait_in_a_call() -> None:
    """If all that hold bytes wait for more, the first of them gets it: nobody else could give anything back."""
    accounts = ByteAccounts(100)
    for holder in (1, 2):
        accounts.ask(holder, 50)
    accounts.ask(1, 80)
    assert accounts.is_waiting(1)
    accounts.ask(2, 80)
    assert [accounts.held(holder) for holder in (1, 2)] == [80, 50]
    accounts.put(1, 0)
    assert accounts.held(2) == 80
