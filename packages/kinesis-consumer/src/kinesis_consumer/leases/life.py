"""
The life of a lease, and of the current batch of its shard, as values and as pure functions from one value to the next.

    Held, HandingOver -> Held, HandingOver     `known`, `written`: what a write or a read of the lease has shown
    HandingOver -> HandingOver                 `ask`: the program was asked to finish the current batch
    Held, HandingOver -> Releasing, Released   `begin_release`, then `end_release`: this worker gives the lease to others on purpose
    Held, HandingOver, Releasing -> Lost       `expire`, `lose`, `found`: another worker has it, or may have it

    Empty -> Planned -> Ready -> Out           `plan`, `fix`, `take`: a batch is built, its end is written, the program has it
    Out -> Empty, Planned, Ready               `end_commit`: the next batch takes its place, if its records are there
    any -> Withdrawn                           the lease is released or lost: the next owner delivers the batch

A leader may begin a hand-over, or revoke it. `Released`, `Lost` and `Withdrawn` are never left.
"""

from __future__ import annotations

from typing import Any, Generic, TypeGuard, TypeVar

from attrs import evolve, frozen

from kinesis_core.leases import Lease, LeaseCheckpoint

B = TypeVar("B")
L = TypeVar("L", bound="_Lease")


@frozen
class _Lease:
    lease: Lease
    """As this worker knows it."""
    sent_s: float
    """When the last successful write was sent. Other workers count from when they saw it, which is later."""
    unanswered: int | None = None
    """The counter that a commit without a response expected. As long as the lease has this counter, that commit may be written."""


@frozen
class Held(_Lease):
    """This worker reads the shard."""


@frozen
class HandingOver(_Lease):
    """Another worker waits for the lease. The current batch can be committed, and no other one is made."""

    asked_s: float | None = None
    """When the program was asked to finish."""


@frozen
class Releasing(_Lease):
    """The write that releases the lease was sent: the next owner may begin before this worker has the response."""


@frozen
class Released(_Lease):
    """This worker released the lease on purpose."""

    reason: str = "it was released"


@frozen
class Lost(_Lease):
    """Another worker has the lease, or may have it."""

    reason: str = ""


LeaseState = Held | HandingOver | Releasing | Released | Lost
_OURS = (Held, HandingOver)  # a union costs more each time


def is_ours(state: LeaseState) -> bool:
    """Return whether no other worker can have the lease."""
    return isinstance(state, _OURS)


def is_over(state: LeaseState) -> TypeGuard[Released | Lost]:
    """Return whether this worker is done with the lease."""
    return isinstance(state, (Released, Lost))


def expire(state: LeaseState, now_s: float, duration_s: float) -> LeaseState:
    """Return the state at *now_s*. A lease that was not renewed in time is lost, whatever a late response says."""
    if now_s < state.sent_s + duration_s:
        return state
    return lose(state, f"it could not be renewed for {duration_s:g} s")


def lose(state: LeaseState, reason: str) -> LeaseState:
    """Return the state once the lease is lost. The first reason counts."""
    return state if is_over(state) else _as(Lost, state, reason=reason)


def known(state: LeaseState, lease: Lease, worker: str, sent_s: float | None = None) -> LeaseState:
    """Return the state of *worker*'s lease that is *lease* in the table. A lease that is released or lost stays so."""
    if not isinstance(state, _OURS):
        return evolve(state, lease=lease)
    sent_s = state.sent_s if sent_s is None else sent_s
    if lease.checkpoint_owner == worker != lease.owner:
        asked_s = state.asked_s if isinstance(state, HandingOver) else None
        return HandingOver(lease, sent_s, state.unanswered, asked_s)
    return Held(lease, sent_s, state.unanswered)


def written(state: LeaseState, lease: Lease, worker: str, sent_s: float) -> LeaseState:
    """Return the state after a write of *worker* that was sent at *sent_s*, and whose response is *lease*."""
    if lease.actual_owner != worker:  # the counter is as expected, so no worker did this
        return lose(state, f"its owner was changed to {lease.actual_owner or 'nobody'} by hand")
    return known(state, lease, worker, sent_s)


def found(state: LeaseState, lease: Lease, worker: str) -> LeaseState:
    """
    Return the state after a write of *worker* was refused, and a read has shown *lease*.

    The counter has not moved: a hand-over has begun. It has moved by one: an earlier write of this worker was made, and its response
    was lost. Anything else was written by others.
    """
    if lease.actual_owner != worker:
        return lose(state, f"worker {lease.actual_owner or 'nobody'} has it")
    if lease.counter - state.lease.counter not in (0, 1):
        return lose(state, "another worker has had it")
    return known(state, lease, worker)


def unanswered(state: LeaseState) -> LeaseState:
    """Return the state after a commit got no response."""
    return evolve(state, unanswered=state.lease.counter)


def is_committed(state: LeaseState, reached: LeaseCheckpoint) -> bool | None:
    """Return whether a commit up to *reached* was written before the lease was released or lost. None: only a read of the lease shows it."""
    if state.lease.checkpoint == reached:
        return True
    return None if state.lease.counter == state.unanswered else False


def was_committed(state: LeaseState, reached: LeaseCheckpoint, seen: Lease | None) -> bool | None:
    """
    Return whether a commit without a response was written, after a read has shown *seen*. None: it is unknown.

    Only the holder of a lease moves its checkpoint, and each change of owner grows the counter. So if the first write since then has
    reached this checkpoint, it was the commit. After more writes it may have been another worker's, which has delivered the batch
    again. A lease that stands before it proves that the commit was not made and, by its counter, that it never will be.
    """
    if seen is None or seen.counter == state.unanswered:
        return None
    if (seen.counter - 1, seen.checkpoint) == (state.unanswered, reached):
        return True
    return None if seen.checkpoint >= reached else False


def ask(state: LeaseState, now_s: float) -> LeaseState:
    """Return the state once the program is asked to finish the current batch. It is asked once in a hand-over."""
    match state:
        case HandingOver(asked_s=None):
            return evolve(state, asked_s=now_s)
        case _:
            return state


def is_overdue(state: LeaseState, now_s: float, timeout_s: float) -> bool:
    """Return whether the time for the current batch is over since the program was asked to finish it."""
    return isinstance(state, HandingOver) and state.asked_s is not None and now_s - state.asked_s >= timeout_s


def begin_release(state: LeaseState) -> LeaseState:
    """Return the state from just before the write that releases the lease is sent."""
    return _as(Releasing, state) if is_ours(state) else state


def end_release(state: LeaseState, lease: Lease) -> LeaseState:
    """Return the state after the release was written, as *lease*."""
    return evolve(_as(Released, state) if isinstance(state, Releasing) else state, lease=lease)


def _as(kind: type[L], state: LeaseState, **more: Any) -> L:
    return kind(state.lease, state.sent_s, state.unanswered, **more)


@frozen
class Empty:
    """There is no batch."""


@frozen
class Planned(Generic[B]):
    """A batch is built. Its end is not written, or it is the next owner's if a hand-over is not revoked."""

    batch: B


@frozen
class Ready(Generic[B]):
    """The end of the batch is written. It waits for the program."""

    batch: B


@frozen
class Out(Generic[B]):
    """The program has the batch, and has not committed it."""

    batch: B
    following: B | None = None
    """The next batch, whose end the commit writes."""


@frozen
class Withdrawn:
    """Nothing goes out or comes in any more. A batch would take the place of the open one, and the next owner would skip records."""


Hand = Empty | Planned[B] | Ready[B] | Out[B] | Withdrawn


def can_plan(hand: Hand[B]) -> bool:
    """Return whether the next batch must be built."""
    return isinstance(hand, Empty) or (isinstance(hand, Out) and hand.following is None)


def plan(hand: Hand[B], batch: B) -> Hand[B]:
    """Return the hand once *batch* is built."""
    match hand:
        case Empty():
            return Planned(batch)
        case Out(out, None):
            return Out(out, batch)
        case _:
            return hand


def fix(hand: Hand[B]) -> Hand[B]:
    """Return the hand once the end of the planned batch is written."""
    return Ready(hand.batch) if isinstance(hand, Planned) else hand


def take(hand: Hand[B], state: LeaseState) -> Hand[B]:
    """Return the hand once the program has the batch, if it may have it now."""
    match hand, state:
        case Ready(batch), Held() | HandingOver(asked_s=None):
            return Out(batch)
        case _:
            return hand


def is_out(hand: Hand[B], batch: B) -> bool:
    return isinstance(hand, Out) and hand.batch is batch


def end_commit(hand: Hand[B], state: LeaseState) -> Hand[B]:
    """Return the hand once the batch that is out is committed. Only while the lease is held the next one goes out."""
    match hand:
        case Out(_, following) if following is not None:
            return Ready(following) if isinstance(state, Held) else Planned(following)
        case Out():
            return Empty()
        case _:
            return hand


def may_release(hand: Hand[B], *, only_idle: bool) -> bool:
    """Return whether the lease may be released: with *only_idle*, once no batch is in the program's hand."""
    return not (only_idle and isinstance(hand, Out))
