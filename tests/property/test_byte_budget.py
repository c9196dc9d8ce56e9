"""Bytes under a limit: never more than it and one page, always somebody who goes on, and nothing left at the end."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from kinesis_core.budget import ByteAccounts
from support.examples import examples

LIMIT = 100
sizes = st.integers(0, 150)
steps = st.lists(
    st.tuples(st.sampled_from(["ask", "put", "withdraw", "leave"]), st.integers(0, 5), sizes), max_size=40
)


@settings(max_examples=examples(500))
@given(steps, st.integers(1, LIMIT))
def test_the_limit_holds_and_somebody_goes_on(script: list[tuple[str, int, int]], limit: int) -> None:
    """
    Holders have no more than the limit and one ask together. If some wait, another one has bytes to give back. Once all that do not
    wait give theirs back, everybody in line has its turn, and in the end nothing is used.
    """
    accounts, largest = ByteAccounts(limit), 0
    for step, holder, size in script:
        if step in ("ask", "put") and accounts.is_waiting(holder):
            continue  # a thread waits for one thing
        if step == "ask":
            largest = max(largest, size)
            accounts.ask(holder, size)
        elif step == "put":  # a page is smaller than the response that it was made of
            accounts.put(holder, min(size, accounts.held(holder)))
        elif step == "withdraw":
            accounts.withdraw(holder)
        else:
            accounts.put(holder, 0)
        held = [accounts.held(each) for each in range(6)]
        waiting = [each for each in range(6) if accounts.is_waiting(each)]
        assert accounts.used_bytes == sum(held) <= max(limit, 0) + largest
        assert not waiting or any(held[each] for each in range(6) if each not in waiting)
    for _ in range(7):
        for holder in range(6):
            if not accounts.is_waiting(holder):
                accounts.put(holder, 0)
    assert accounts.used_bytes == 0
    assert not any(accounts.is_waiting(holder) for holder in range(6))


@settings(max_examples=examples(200))
@given(st.lists(sizes, min_size=1, max_size=6), st.integers(1, LIMIT))
def test_room_is_what_an_ask_finds(held: list[int], wanted: int) -> None:
    """`has_room` says what an ask then finds: it does not wait exactly if there was room."""
    accounts = ByteAccounts(LIMIT)
    for holder, size in enumerate(held):
        accounts.ask(holder, size)
    newcomer = len(held)
    had_room = accounts.has_room(newcomer, wanted)
    accounts.ask(newcomer, wanted)
    assert accounts.is_waiting(newcomer) is not had_room
