"""Generated lives of a lease and of its batches: what a worker, its program, other workers and the network do, in any order."""

from __future__ import annotations

from typing import Any

from attrs import define, evolve, field
from hypothesis import given, settings, strategies as st

from kinesis_consumer.leases import life
from kinesis_consumer.leases.life import Empty, Hand, Held, LeaseState, Out, Withdrawn
from kinesis_core.leases import OLDEST, Lease, LeaseCheckpoint
from support.examples import examples

ME, NEXT = "me", "next"
DURATION_S = 10.0
TIMEOUT_S = 15.0


@define
class Life:
    """A worker with one lease. Its batches are numbered, and a checkpoint is the number of the last one that is committed."""

    item: Lease = field(factory=lambda: Lease("shard", OLDEST, owner=ME))
    """The lease as the table has it."""
    wrote_s: float = 0.0
    """When the owner wrote it last."""
    state: LeaseState = field(init=False)
    hand: Hand[int] = field(factory=Empty)
    now_s: float = 0.0
    batches: int = 0
    taken: int = 0
    told: dict[int, bool | None] = field(factory=dict)
    """What the program was told of a batch: whether it is committed; None where nobody knows."""
    written: set[int] = field(factory=set)
    """Batches whose commit this worker has written."""
    asked_s: float | None = None
    """When the program was asked to finish, in this hand-over."""
    late: list[tuple[int, int]] = field(factory=list)
    """Commits without a response that may still arrive: the expected counter, and the batch."""

    def __attrs_post_init__(self) -> None:
        self.state = Held(self.item, 0.0)

    def play(self, event: str, fate: str) -> None:
        getattr(self, event)(fate)
        self.become(life.expire(self.state, self.now_s, DURATION_S))
        assert not life.is_ours(self.state) or self.item.actual_owner == ME, "two workers have the lease"

    def become(self, state: LeaseState) -> None:
        assert life.is_ours(self.state) or not life.is_ours(state), "a lease came back"
        self.state = state
        self.asked_s = None if isinstance(state, Held) else self.asked_s

    def put(self, **changes: Any) -> Lease:
        self.item = evolve(self.item, counter=self.item.counter + 1, **changes)
        self.wrote_s = self.now_s
        return self.item

    # Others --------------------------------------------------------------------------------------------------

    def wait(self, fate: str) -> None:
        self.now_s += {"": 1.0, "slow": 9.0, "fail": 16.0}.get(fate, 4.0)

    def arrive(self, _: str) -> None:
        """Let commits reach the table whose worker waits for no response any more."""
        for counter, batch in self.late:
            if self.item.counter == counter:
                self.put(checkpoint=LeaseCheckpoint(str(batch)))
                self.written.add(batch)
        self.late.clear()

    def take_over(self, _: str) -> None:
        """Let another worker have a lease that was not renewed."""
        if self.item.actual_owner == ME and self.now_s >= self.wrote_s + DURATION_S:
            self.put(owner=NEXT, checkpoint_owner=None)

    def go_on(self, _: str) -> None:
        """Let the other worker deliver the same batch again, and commit it."""
        if self.item.actual_owner == NEXT and self.taken:
            self.put(checkpoint=max(self.item.checkpoint, LeaseCheckpoint(str(self.taken))))

    def hand_over(self, _: str) -> None:
        if self.item.owner == ME and self.item.checkpoint_owner is None:
            self.item = evolve(self.item, owner=NEXT, checkpoint_owner=ME)

    def revoke(self, _: str) -> None:
        if self.item.checkpoint_owner == ME:
            self.item = evolve(self.item, counter=self.item.counter + 1, owner=ME, checkpoint_owner=None)

    # The worker ----------------------------------------------------------------------------------------------

    def update(self, fate: str, batch: int | None = None) -> bool:
        """Write the lease as its owner. Returns whether there is a response that says so."""
        known, sent_s = self.state.lease, self.now_s
        is_made = known.counter == self.item.counter
        if batch is None:
            is_made = is_made and (known.checkpoint_owner == self.item.checkpoint_owner)
        if is_made and fate not in ("fail", "late"):
            self.put(**({} if batch is None else {"checkpoint": LeaseCheckpoint(str(batch))}))
            self.written |= set() if batch is None else {batch}
        if fate in ("fail", "late", "lose"):
            if batch is not None:
                self.become(life.unanswered(self.state))
                self.late += [(known.counter, batch)] if fate == "late" else []
            return False
        self.now_s += 11.0 if fate == "slow" else 0.0
        self.become(life.expire(self.state, self.now_s, DURATION_S))
        if is_made:
            self.become(life.written(self.state, self.item, ME, sent_s))
        else:
            self.become(life.found(self.state, self.item, ME))
        return is_made

    def renew(self, fate: str) -> None:
        if life.is_ours(self.state):
            self.update(fate)

    def plan(self, _: str) -> None:
        if life.can_plan(self.hand):
            self.batches += 1
            self.hand = life.plan(self.hand, self.batches)

    def fix(self, _: str) -> None:
        if isinstance(self.state, Held):
            self.hand = life.fix(self.hand)

    def take(self, _: str) -> None:
        before, self.hand = self.hand, life.take(self.hand, self.state)
        if isinstance(self.hand, Out) and self.hand is not before:
            assert life.is_ours(self.state), "a batch goes out whose lease is lost"
            assert self.asked_s is None, "a batch goes out after the program was asked to finish"
            assert not self.taken or self.told.get(self.taken), "two batches are out"
            assert self.hand.batch == self.taken + 1, "a batch was skipped"
            self.taken = self.hand.batch

    def deliver(self, _: str) -> None:
        for step in (self.plan, self.fix, self.take):
            step("")

    def commit(self, fate: str) -> None:
        """Commit the batch that the program has, or had when the lease was lost."""
        batch = self.taken
        if not batch or self.told.get(batch, ...) is not ...:
            return
        reached = LeaseCheckpoint(str(batch))
        if life.is_out(self.hand, batch) and life.is_ours(self.state) and self.update(fate, batch):
            self.told[batch], self.hand = True, life.end_commit(self.hand, self.state)
            assert not life.is_out(self.hand, batch)
        elif not life.is_ours(self.state):
            found = life.is_committed(self.state, reached)
            if found is None:
                found = life.was_committed(self.state, reached, None if fate else self.item)
            self.told[batch] = found

    def fade(self, fate: str) -> None:
        """Commit, and hear nothing of the table for longer than the lease is valid."""
        self.commit(fate)
        self.now_s += DURATION_S

    def ask(self, _: str) -> None:
        before = self.state
        self.become(life.ask(self.state, self.now_s))
        if self.state is not before:
            assert self.asked_s is None, "the program is asked once in a hand-over"
            self.asked_s = self.now_s

    def release(self, fate: str) -> None:
        """Release the lease: in a hand-over, or at the end of the worker if the program has no batch."""
        is_overdue = life.is_overdue(self.state, self.now_s, TIMEOUT_S)
        if not life.may_release(self.hand, only_idle=not is_overdue):
            return
        if isinstance(self.hand, Out):
            assert self.asked_s is not None, "a lease was released with a batch in hand"
            assert self.now_s - self.asked_s >= TIMEOUT_S, "the program had less than its time"
        self.hand = Withdrawn()
        self.become(life.begin_release(self.state))
        assert not life.is_ours(self.state), "a lease is used while it is released"
        if not isinstance(self.state, life.Releasing):
            return
        is_made = self.state.lease.counter == self.item.counter and fate != "fail"
        if is_made:
            self.put(owner=NEXT, checkpoint_owner=None)
        if is_made and fate != "lose":
            self.become(life.end_release(self.state, self.item))
        else:
            self.become(life.lose(self.state, "the store failed"))


fates = st.sampled_from(["", "", "", "slow", "lose", "late", "fail"])


def some(*events: str) -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(st.sampled_from(events), fates), max_size=8)


def at_times(*events: str) -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.sampled_from([[], [(event, "") for event in events]])


histories = st.tuples(
    some("deliver", "commit", "renew", "plan", "fix", "take"),
    at_times("deliver", "plan", "hand_over", "renew", "ask"),
    some("commit", "renew", "ask", "wait", "fix", "take", "plan", "revoke", "hand_over", "release"),
    at_times("renew", "deliver"),
    at_times("fix", "take"),
    some("fade", "fade", "commit", "commit", "take_over", "go_on", "arrive"),
).map(lambda parts: [event for part in parts for event in part])


@settings(max_examples=examples(500))
@given(histories)
def test_what_a_worker_is_told_is_true(history: list[tuple[str, str]]) -> None:
    """
    No two workers have the lease, one batch is out at a time, none is skipped, and a lease that is lost or released stays so. It is
    released with no batch in hand, or after the hand-over timeout.

    A commit that was written is never reported as lost, and one that is reported as written was. A batch that is said not to be
    committed never will be, whatever still arrives.
    """
    one = Life()
    for event, fate in history:
        one.play(event, fate)
    one.arrive("")
    for batch, is_committed in one.told.items():
        assert is_committed is None or is_committed is (batch in one.written), (batch, is_committed)
