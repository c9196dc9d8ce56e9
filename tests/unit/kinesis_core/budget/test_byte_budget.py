"""Threads that wait for bytes of one budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from kinesis_core.budget import (
    IN_FLIGHT,
    ByteBudget,
    ByteShare,
    NoRoomError,
    admit,
    receiving,
    release,
    reserve,
)
from kinesis_core.budget.byte_budget import ClosedError
from support.waiting import PATIENCE_S, wait_until


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def waiting(
    pool: ThreadPoolExecutor, budget: ByteBudget, share: ByteShare, ask: Callable[[], None]
) -> Future[None]:
    """Return *ask* in a thread, once that waits in line."""
    future = pool.submit(ask)
    wait_until(lambda: budget.is_waiting(share))
    return future


def test_a_response_counts_twice_until_it_is_a_page() -> None:
    """A body that is received needs room for itself and its page. The page keeps its own bytes until it is released."""
    budget = ByteBudget(1000)
    share = budget.share()
    share.reserve(300)
    assert budget.used_bytes == IN_FLIGHT * 300
    page = share.hand_over(200)
    assert (budget.used_bytes, page.size_bytes, share.size_bytes) == (200, 200, 0)
    share.reserve(100)
    page.release()
    page.release()
    assert budget.used_bytes == IN_FLIGHT * 100


def test_nothing_known_reserves_the_first_bytes() -> None:
    """The first call of a shard takes what its share says. A body that is smaller than that needs no more."""
    budget = ByteBudget(1000)
    share = budget.share(first_bytes=50)
    share.reserve(None)
    share.admit(40)
    assert budget.used_bytes == IN_FLIGHT * 50
    share.admit(60)
    assert budget.used_bytes == IN_FLIGHT * 60


def test_a_body_without_room_is_given_up_in_time() -> None:
    """A call that is under way does not wait for longer than the patience, and then holds what it held before."""
    budget = ByteBudget(100)
    budget.share().reserve(40)
    share = budget.share(first_bytes=5, patience_s=0)
    share.reserve(None)
    with pytest.raises(NoRoomError) as raised:
        share.admit(30)
    assert raised.value.body_bytes == 30
    assert share.size_bytes == IN_FLIGHT * 5


def test_a_thread_waits_until_bytes_are_given_back(pool: ThreadPoolExecutor) -> None:
    """A call waits for room, and is made when another page is released."""
    budget = ByteBudget(100)
    first, second = budget.share(), budget.share()
    first.reserve(50)
    asked = waiting(pool, budget, second, lambda: second.reserve(50))
    first.release()
    asked.result(PATIENCE_S)
    assert second.size_bytes == 100


def test_a_thread_that_waits_lets_another_go_first(pool: ThreadPoolExecutor) -> None:
    """If the last of all holders begins to wait in its call, the first one goes on, although nothing was given back."""
    budget = ByteBudget(100)
    first, second = budget.share(), budget.share()
    first.reserve(25)
    second.reserve(25)
    asked = waiting(pool, budget, first, lambda: first.admit(40))
    later = waiting(pool, budget, second, lambda: second.admit(40))
    asked.result(PATIENCE_S)
    first.hand_over(40).release()
    later.result(PATIENCE_S)


def test_closing_ends_all_waits(pool: ThreadPoolExecutor) -> None:
    """Threads that wait for room end when the reader is closed, and none waits afterwards."""
    budget = ByteBudget(100)
    first, second = budget.share(), budget.share()
    first.reserve(50)
    asked = waiting(pool, budget, second, lambda: second.reserve(50))
    budget.close()
    with pytest.raises(ClosedError):
        asked.result(PATIENCE_S)
    with pytest.raises(ClosedError):
        first.reserve(60)


def test_a_thread_receives_in_its_own_share() -> None:
    """What a thread receives counts in the share of its block only. Another thread, and a thread without a share, do not wait."""
    budget = ByteBudget(100)
    share = budget.share(patience_s=0)
    with receiving(share):
        reserve(10)
        other = threading.Thread(target=lambda: admit(1000))
        other.start()
        other.join(PATIENCE_S)
        assert budget.used_bytes == IN_FLIGHT * 10
        release()
        assert budget.used_bytes == 0
    admit(1000)
    reserve(1000)
    release()
    assert budget.used_bytes == 0
