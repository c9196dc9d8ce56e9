"""Leases that a worker holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from kinesis_consumer.errors import LeaseLostError
from kinesis_consumer.leases import updates
from kinesis_consumer.leases.held import HeldLease
from kinesis_consumer.stores import Update
from kinesis_core import ThrottledError, UnavailableError
from kinesis_core.leases import FINISHED, LeaseCheckpoint
from support.waiting import PATIENCE_S
from unit.kinesis_consumer.consumer_parts import OneShard


@pytest.fixture
def shard() -> OneShard:
    return OneShard.new()


@pytest.fixture
def held(shard: OneShard) -> HeldLease:
    return shard.take("me")


def others_take(shard: OneShard) -> None:
    assert shard.table.table.update(updates.assign(shard.lease(), "another")) is not None


def renew_in_vain(shard: OneShard, held: HeldLease) -> None:
    """Renew a lease without a response. After that the table is well again."""
    shard.table.hook = lambda: "lose"
    with pytest.raises(UnavailableError):
        held.renew()
    shard.table.hook = str


def slow(shard: OneShard, seconds: float) -> Callable[[], str]:
    """Return the hook of a table whose calls take so long."""

    def sleep() -> str:
        shard.clock.sleep(seconds)
        return ""

    return sleep


def test_renewals_grow_the_counter(shard: OneShard, held: HeldLease) -> None:
    """A renewal changes nothing but the counter, which other workers watch."""
    before = shard.lease()
    held.renew()
    assert shard.lease() == held.lease
    assert held.lease.counter == before.counter + 1


def test_a_lease_is_valid_since_its_renewal_was_sent(shard: OneShard, held: HeldLease) -> None:
    """The time of a slow write counts against the lease: others may have seen it as soon as it was sent."""
    shard.table.hook = slow(shard, 4)
    held.renew()
    shard.clock.sleep(5.9)
    assert held.is_ours
    shard.clock.sleep(0.2)
    assert not held.is_ours


def test_a_lease_that_was_not_renewed_in_time_is_not_written(shard: OneShard, held: HeldLease) -> None:
    """Once the lease duration has passed, the worker writes nothing, even if the store would take it."""
    shard.clock.sleep(10)
    with pytest.raises(LeaseLostError, match="could not be renewed for 10 s"):
        held.checkpoint(FINISHED, None, {})
    assert shard.table.calls[-1][0] == "create"


def test_a_taken_lease_is_lost(shard: OneShard, held: HeldLease) -> None:
    """A renewal fails when another worker has taken the lease, and says who."""
    others_take(shard)
    with pytest.raises(LeaseLostError, match="worker another has it"):
        held.renew()
    assert not held.is_ours


def test_a_lease_whose_owner_was_changed_by_hand_is_lost(shard: OneShard, held: HeldLease) -> None:
    """The counter is the same, so a write succeeds. It is the last one: a lease that names another worker is not renewed."""
    shard.table.table.update(Update(held.key, {}, {"leaseOwner": "another"}))
    with pytest.raises(LeaseLostError, match="its owner was changed to another by hand"):
        held.renew()
    assert not held.is_ours


def test_a_lease_that_came_back_is_lost(shard: OneShard, held: HeldLease) -> None:
    """Another worker had the lease meanwhile, and may have moved its checkpoint."""
    for owner in ("another", "me"):
        assert shard.table.table.update(updates.assign(shard.lease(), owner)) is not None
    with pytest.raises(LeaseLostError, match="another worker has had it"):
        held.renew()
    held.lose("another reason")
    assert held.reason == "another worker has had it"


def test_a_deleted_lease_is_lost(shard: OneShard, held: HeldLease) -> None:
    """A renewal does not bring back a lease that was deleted."""
    shard.table.delete(held.key, {})
    with pytest.raises(LeaseLostError, match="it was deleted"):
        held.renew()
    assert shard.table.table.get(held.key) is None


def test_a_lost_response_loses_no_lease(shard: OneShard, held: HeldLease) -> None:
    """A renewal that was made without a response is found by the next one."""
    renew_in_vain(shard, held)
    held.checkpoint(LeaseCheckpoint("7"), None, {})
    assert shard.lease().checkpoint == LeaseCheckpoint("7")
    assert held.is_ours


def test_a_commit_of_a_lease_that_changes_all_the_time(shard: OneShard, held: HeldLease) -> None:
    """It gives up after some attempts, and does not count as written."""

    def renew() -> str:
        if shard.table.calls[-1][0] == "update":
            shard.table.table.update(updates.renew(shard.lease()))
        return ""

    shard.table.hook = renew
    with pytest.raises(LeaseLostError, match="its item changes all the time"):
        held.checkpoint(LeaseCheckpoint("7"), None, {})
    assert shard.lease().checkpoint != LeaseCheckpoint("7")


def test_hand_over(shard: OneShard, held: HeldLease) -> None:
    """A renewal learns that the leader wants the lease for another worker, and keeps it until it is released."""
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next")) is not None
    held.renew()
    assert (held.is_handing_over, held.is_ours) == (True, True)
    held.renew()
    held.checkpoint(LeaseCheckpoint("7"), None, {})
    assert held.release(None)
    lease = shard.lease()
    assert (lease.owner, lease.checkpoint_owner, lease.checkpoint) == ("next", None, LeaseCheckpoint("7"))
    assert not held.is_ours


def test_a_commit_during_a_hand_over(shard: OneShard, held: HeldLease) -> None:
    """A commit does not fail when a hand-over has begun since the last write."""
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next")) is not None
    held.checkpoint(LeaseCheckpoint("7"), None, {})
    assert held.is_handing_over


def test_releasing_to_another_worker(shard: OneShard, held: HeldLease) -> None:
    """A worker that closes gives its lease to a named worker, or to anybody."""
    assert held.release("next")
    assert shard.lease().owner == "next"
    assert shard.take("me").release(None)
    assert shard.lease().owner is None


def test_a_lease_is_not_ours_while_it_is_released(shard: OneShard, held: HeldLease) -> None:
    """The next owner may begin before this worker hears that its write was made. Until then the lease is not done with."""
    seen: list[tuple[bool, bool]] = []

    def slow() -> str:
        seen.append((held.is_ours, held.is_over))
        return ""

    shard.table.hook = slow
    assert held.release("next")
    assert seen == [(False, False)]
    assert (held.is_ours, held.is_over) == (False, True)


def test_nothing_is_left_that_others_have(shard: OneShard, held: HeldLease) -> None:
    """A worker that lost its lease does not release it: that would be the lease of another."""
    others_take(shard)
    assert not held.release(None)
    assert shard.lease().owner == "another"


def test_a_commit_removes_the_pending_checkpoint(shard: OneShard, held: HeldLease) -> None:
    """A commit without a next batch leaves nothing pending."""
    held.set_pending((LeaseCheckpoint("8", 2), "1 TRIM_HORIZON 7 8/2"), {})
    assert shard.lease().pending == LeaseCheckpoint("8", 2)
    held.checkpoint(LeaseCheckpoint("8", 2), None, {})
    item = shard.table.table.get(held.key)
    assert item is not None
    assert not {name for name in item if name.startswith("pending")}


def test_a_lease_does_not_come_back(shard: OneShard, held: HeldLease) -> None:
    """A renewal whose response comes after the lease has expired is too late: a batch may have been dropped meanwhile."""

    def slow() -> str:
        shard.clock.sleep(1)
        assert not held.is_ours
        return ""

    shard.clock.sleep(9.5)
    shard.table.hook = slow
    with pytest.raises(LeaseLostError, match="could not be renewed"):
        held.renew()
    assert not held.is_ours


def test_a_commit_that_was_written_counts(shard: OneShard, held: HeldLease) -> None:
    """It counts, also if the lease has expired when its response comes. Only the lease is lost."""
    shard.clock.sleep(9.5)
    shard.table.hook = slow(shard, 1)
    held.checkpoint(LeaseCheckpoint("8", 2), None, {})
    assert shard.lease().checkpoint == held.lease.checkpoint == LeaseCheckpoint("8", 2)
    assert not held.is_ours


REACHED = LeaseCheckpoint("8", 2)


def commit_in_vain(shard: OneShard, held: HeldLease, fault: str, after: Callable[[], object] = str) -> None:
    """Commit with a *fault* of the table. *after* that, the table is well again and the lease has expired."""
    shard.table.hook = lambda: fault
    with pytest.raises(UnavailableError):
        held.checkpoint(REACHED, None, {})
    after()
    shard.clock.sleep(10)
    shard.table.hook = str


def may_be_committed(held: HeldLease) -> bool:
    """Commit once more without success, and return what the error says of the batch."""
    with pytest.raises(LeaseLostError) as raised:
        held.checkpoint(REACHED, None, {})
    return raised.value.may_be_committed


@pytest.mark.parametrize("sees_it_before", [False, True])
def test_a_commit_whose_response_was_lost_counts(
    shard: OneShard, held: HeldLease, sees_it_before: bool
) -> None:
    """A look after the lease has expired finds it. So does a renewal before."""

    def renew() -> None:
        shard.table.hook = str
        held.renew()

    commit_in_vain(shard, held, "lose", renew if sees_it_before else str)
    held.checkpoint(REACHED, None, {})
    assert shard.lease().checkpoint == REACHED
    assert not held.is_ours


def test_a_commit_that_was_made_at_the_last_moment(shard: OneShard, held: HeldLease) -> None:
    """The attempt after a lost response is refused, and shows that the first one was made, when the lease has just expired."""
    shard.table.hook = lambda: "lose"
    with pytest.raises(UnavailableError):
        held.checkpoint(REACHED, None, {})

    shard.table.hook = slow(shard, 6)
    held.checkpoint(REACHED, None, {})
    assert shard.lease().checkpoint == REACHED
    assert not held.is_ours


def test_a_commit_that_was_seen_and_is_written_again(shard: OneShard, held: HeldLease) -> None:
    """An attempt after a lost response is made without need, and loses its response, too. The commit counts."""
    faults = iter(["lose", "", "", "lose"])  # the second attempt is refused, and looks
    shard.table.hook = lambda: next(faults)
    for _ in range(2):
        with pytest.raises(UnavailableError):
            held.checkpoint(REACHED, None, {})
    shard.table.hook = lambda: "fail"
    shard.clock.sleep(10)
    held.checkpoint(REACHED, None, {})


def test_a_renewal_without_a_response_says_nothing_of_a_commit(shard: OneShard, held: HeldLease) -> None:
    """A commit that was never sent is not made."""
    shard.table.hook = lambda: "fail"
    with pytest.raises(UnavailableError):
        held.renew()
    shard.clock.sleep(10)
    assert not may_be_committed(held)


@pytest.mark.parametrize("fault", ["fail", "lose"])
def test_a_commit_of_which_nobody_knows(shard: OneShard, held: HeldLease, fault: str) -> None:
    """The table does not respond to the look either. What is said is true if the commit was made, and if it was not."""
    commit_in_vain(shard, held, fault)
    shard.table.hook = lambda: fault
    with pytest.raises(LeaseLostError, match="could not be renewed") as raised:
        held.checkpoint(REACHED, None, {})
    assert raised.value.may_be_committed
    assert shard.table.calls[-1][0] == "get", "one look, and no write of a lease that is lost"


def test_a_commit_that_may_still_arrive(shard: OneShard, held: HeldLease) -> None:
    """A write without a response may be made later, as long as the counter is the one that it expects."""
    commit_in_vain(shard, held, "fail")
    assert may_be_committed(held)


def test_a_commit_that_another_worker_has_prevented(shard: OneShard, held: HeldLease) -> None:
    """Another worker has the lease now, and stands before the batch: it delivers the batch again."""
    commit_in_vain(shard, held, "fail", lambda: others_take(shard))
    assert not may_be_committed(held)


@pytest.mark.parametrize("was_made", [False, True])
@pytest.mark.parametrize("reached", [REACHED, LeaseCheckpoint("9")])
def test_a_commit_after_which_another_worker_went_on(
    shard: OneShard, held: HeldLease, was_made: bool, reached: LeaseCheckpoint
) -> None:
    """Another worker stands behind the batch: it may have delivered it again, or found it committed. The item looks the same."""
    commit_in_vain(shard, held, "lose" if was_made else "fail")
    others_take(shard)
    while shard.lease().counter < held.lease.counter + 3:
        assert shard.table.table.update(updates.checkpoint(shard.lease(), reached))
    assert may_be_committed(held)


def test_a_commit_after_which_a_hand_over_began(shard: OneShard, held: HeldLease) -> None:
    """The lease names another worker, and the first write since the commit was sent is the commit."""
    commit_in_vain(shard, held, "lose")
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next"))
    held.checkpoint(REACHED, None, {})


@pytest.mark.parametrize("refusal", [ThrottledError("slow down", "ThrottlingException"), None])
def test_a_commit_whose_writes_were_all_refused(
    shard: OneShard, held: HeldLease, refusal: ThrottledError | None
) -> None:
    """It is certain that it was not made, whatever another worker has committed since: no look is needed."""

    def refuse() -> str:
        if refusal is not None:
            raise refusal
        others_take(shard)
        assert shard.table.table.update(updates.checkpoint(shard.lease(), REACHED))
        return ""

    shard.table.hook = refuse
    with suppress(ThrottledError, LeaseLostError):
        held.checkpoint(REACHED, None, {})
    shard.table.hook = lambda: "fail"
    shard.clock.sleep(10)
    assert not may_be_committed(held)


@pytest.mark.parametrize("change", ["deleted", "damaged"])
def test_a_look_at_a_lease_that_is_no_lease(shard: OneShard, held: HeldLease, change: str) -> None:
    """It shows nothing."""
    commit_in_vain(shard, held, "lose")
    if change == "deleted":
        shard.table.delete(held.key, {})
    else:
        shard.table.table.update(Update(held.key, expect={}, set={"checkpoint": "soon"}))
    assert may_be_committed(held)


@pytest.mark.parametrize("fault", ["fail", "lose"])
def test_a_commit_without_a_response_before_the_lease_is_released(
    shard: OneShard, held: HeldLease, fault: str
) -> None:
    """The release shows whether the commit was made, and no later attempt of it can be made any more."""
    shard.table.hook = lambda: fault
    with pytest.raises(UnavailableError):
        held.checkpoint(REACHED, None, {})
    shard.table.hook = str
    assert held.release(None)
    shard.table.hook = lambda: "fail"
    if fault == "lose":
        held.checkpoint(REACHED, None, {})
        return
    with pytest.raises(LeaseLostError, match="it was released") as raised:
        held.checkpoint(REACHED, None, {})
    assert not raised.value.may_be_committed


def test_a_release_that_arrives_late(shard: OneShard, held: HeldLease) -> None:
    """It changes nothing once the lease was written again, by a worker that has the same name after a restart, too."""
    release = updates.release(held.lease)
    again = shard.take("me")
    assert shard.table.table.update(release) is None
    assert shard.table.table.update(updates.assign(held.lease, "next")) is None
    again.renew()


def test_releasing_after_a_renewal_whose_response_was_lost(shard: OneShard, held: HeldLease) -> None:
    """The lease is released, although its counter is not the one that this worker knows."""
    renew_in_vain(shard, held)
    assert held.release(None)
    assert shard.lease().owner is None


def test_a_batch_whose_end_was_fixed_too_late_does_not_go_out(shard: OneShard, held: HeldLease) -> None:
    """Another worker may have the shard when the response comes."""
    shard.table.hook = slow(shard, 11)
    with pytest.raises(LeaseLostError, match="could not be renewed"):
        held.set_pending((LeaseCheckpoint("8", 2), "1 TRIM_HORIZON 7 8/2"), {})


def test_releasing_in_a_hand_over_that_was_not_noticed(shard: OneShard, held: HeldLease) -> None:
    """A worker that closes just after a hand-over has begun releases the lease to the next owner."""
    assert shard.table.table.update(updates.begin_hand_over(shard.lease(), "next")) is not None
    assert held.release("somebody")
    assert (shard.lease().owner, shard.lease().checkpoint_owner) == ("next", None)


def test_a_lease_whose_item_was_damaged_is_lost(shard: OneShard, held: HeldLease) -> None:
    """A malformed item ends the lease, and not the group."""
    shard.table.table.update(Update(held.key, expect={}, set={"checkpoint": "soon", "leaseCounter": 99}))
    with pytest.raises(LeaseLostError, match="not a valid lease"):
        held.renew()


@pytest.mark.parametrize("kind", ["renew", "commit", "release"])
def test_a_lease_that_is_damaged_when_it_is_written(shard: OneShard, held: HeldLease, kind: str) -> None:
    """A write that was made counts, also a commit or a release. The lease is lost."""
    shard.table.table.update(Update(held.key, expect={}, set={"parentShardId": "a text"}))
    if kind == "renew":
        with pytest.raises(LeaseLostError, match="not a valid lease"):
            held.renew()
    elif kind == "commit":
        held.checkpoint(REACHED, None, {})
    else:
        assert held.release(None)
    assert not held.is_ours
    shard.table.table.update(Update(held.key, expect={}, remove=("parentShardId",)))
    assert (shard.lease().checkpoint == REACHED) is (kind == "commit")
    assert (shard.lease().owner is None) is (kind == "release")


def test_writes_take_turns(shard: OneShard, held: HeldLease) -> None:
    """A second thread writes once the first one has its response, and knows what that one wrote. Who only looks does not wait."""
    began, go_on = threading.Event(), threading.Event()
    writers: list[threading.Thread] = []

    def wait() -> str:
        writers.append(threading.current_thread())
        began.set()
        assert go_on.wait(PATIENCE_S)
        return ""

    shard.table.hook = wait
    threads = [threading.Thread(target=held.renew), threading.Thread(target=held.release, args=[None])]
    for thread in threads:
        thread.start()
        assert began.wait(PATIENCE_S)
    threads[1].join(0.1)
    assert writers == threads[:1]
    assert held.is_ours
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert writers == threads
    assert shard.lease().owner is None


def test_a_turn_that_is_interrupted_blocks_nobody(shard: OneShard, held: HeldLease) -> None:
    """The user may interrupt a write, and a thread that has the turn may write several times."""

    def interrupt() -> str:
        raise KeyboardInterrupt

    with held.turn:
        held.renew()
        shard.table.hook = interrupt
        with pytest.raises(KeyboardInterrupt):
            held.renew()
        shard.table.hook = str
        other = threading.Thread(target=held.renew)
        other.start()
        other.join(0.1)
        assert other.is_alive()
    other.join(PATIENCE_S)
    assert not other.is_alive()
