"""Generated shards from which records expire: no loss is judged to be none, and no silence to be a loss."""

from __future__ import annotations

from attrs import frozen
from hypothesis import given, strategies as st

from kinesis_core.model import HOUR_MS, After, At, Record, ShardOffset
from kinesis_core.planning.evidence import Evidence
from kinesis_core.planning.loss import Doubt, Loss, OffsetExpired, RecordExpired, describe, find_doubt, judge
from kinesis_core.shards import MARGIN_MS, Expired, Left, Passed, Seen, is_expiring

HOURS = 24
NOW_MS = 1_790_000_000_000
KEPT_MS = NOW_MS - HOURS * HOUR_MS


@frozen
class World:
    """A shard of which some records have expired, and a query that has read the first ones."""

    records: list[Record]
    read: int
    is_at: bool
    seen: int
    """How many records after those read were seen."""
    is_stuck: bool
    late_h: int
    """For how many hours records stay after their retention."""

    @property
    def cut(self) -> At | After:
        if self.is_at and self.read < len(self.records):
            return At(self.records[self.read].number)
        return After(self.records[self.read - 1].number)

    @property
    def promised_ms(self) -> int:
        """The arrival of the record that the cut names, as the offset carries it."""
        index = self.read if isinstance(self.cut, At) else self.read - 1
        return self.records[index].arrived_ms or 0

    @property
    def left(self) -> list[Record]:
        return [
            record for record in self.records if (record.arrived_ms or 0) >= KEPT_MS - self.late_h * HOUR_MS
        ]

    @property
    def oldest(self) -> Record | None:
        return next(iter(self.left), None)

    @property
    def found(self) -> Seen:
        """What a search for the record of the cut shows."""
        if self.oldest is None or self.oldest.number > self.cut.number:
            return Expired(self.oldest)
        named = [record for record in self.left if record.number == self.cut.number]
        return Left(named[0]) if named else Passed(self.oldest, is_absent=True)

    @property
    def lost(self) -> list[Record]:
        return [record for record in self.records[self.read :] if record not in self.left]

    @property
    def evidence(self) -> Evidence:
        found = self.records[self.read : self.read + self.seen]
        evidence = Evidence().with_records(found)
        return evidence.with_following(self.cut, found[0]) if found else evidence

    @property
    def doubt(self) -> Doubt:
        expected, following = self.evidence.first_known(self.cut, None), self.evidence.next_record(self.cut)
        return Doubt(self.cut, self.promised_ms, expected, following, self.is_stuck, names_seen=True)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Return records hours apart around the end of the retention, none within the margin of it."""
    ages_h = sorted(
        draw(st.sets(st.integers(1, 60).filter(lambda h: h != HOURS), min_size=1, max_size=8)), reverse=True
    )
    records = [Record(str(i + 1), arrived_s=NOW_MS / 1000 - age_h * 3600) for i, age_h in enumerate(ages_h)]
    read = draw(st.integers(1, len(records)))
    seen = draw(st.integers(0, len(records) - read))
    return World(
        records, read, draw(st.booleans()), seen, draw(st.booleans()), draw(st.sampled_from([0, 0, 12]))
    )


def judged(world: World, hours: int) -> Loss | None:
    return judge(world.doubt, world.found, lambda: hours, lambda: NOW_MS)


@given(worlds(), st.sampled_from([HOURS, 48, 168]))
def test_no_loss_is_passed_over(world: World, hours: int) -> None:
    """
    Where a record expired after the cut, the judgement is a loss, whatever was seen, whether anything is left, and how long
    records are kept since.
    """
    loss = judged(world, hours)
    if world.lost:
        assert loss is not None
        assert isinstance(loss, RecordExpired | OffsetExpired)
        assert loss.oldest == world.oldest
    if world.oldest is None and world.doubt.expected is not None:
        assert loss == RecordExpired(world.doubt.expected, None), "that is certain, whatever the retention is"


@given(worlds(), st.sampled_from([HOURS, 48, 168]))
def test_a_record_that_is_left_proves_that_nothing_is_lost(world: World, hours: int) -> None:
    """Where the record of the cut, or the very next one, is in the stream, nothing after the cut has left."""
    proofs = [r for r in world.left if r.number == world.cut.number or r == world.doubt.following]
    loss = judged(world, hours)
    if proofs:
        assert not world.lost
        assert loss is None, "not even where pages stay empty"


@given(worlds(), st.integers(0, 60))
def test_what_is_younger_than_the_retention_is_not_lost(world: World, seen_h: int) -> None:
    """A shard that was seen empty within the retention has lost nothing since, whatever is left."""
    promised_ms = NOW_MS - seen_h * HOUR_MS
    doubt = Doubt(world.cut, promised_ms, None, None, is_stuck=False)
    loss = judge(doubt, world.found, lambda: HOURS, lambda: NOW_MS)
    if seen_h < HOURS:
        assert loss is None
    if loss is not None:
        assert isinstance(loss, OffsetExpired)
        assert loss.age_ms == seen_h * HOUR_MS
        assert is_expiring(promised_ms, NOW_MS, HOURS)


def is_doubtful(cut: At | After, end: ShardOffset, evidence: Evidence, *, is_old: bool, at_tip: bool) -> bool:
    found = find_doubt(ShardOffset(cut), end, evidence, None, is_old=is_old, is_stuck=False, at_tip=at_tip)
    return found is not None


@given(worlds(), st.booleans())
def test_a_loss_is_always_in_doubt(world: World, at_tip: bool) -> None:
    """A plan that passed over an expired record, or found nothing, is doubted; one that begins with the next record is not."""
    ahead = [r for r in world.left if r.number > world.records[world.read - 1].number]
    end = ShardOffset(After(ahead[-1].number), first=ahead[0].number) if ahead else ShardOffset(world.cut)
    expected, following = world.doubt.expected, world.evidence.next_number(world.cut)
    is_old = is_expiring(world.promised_ms, NOW_MS, HOURS)
    doubtful = is_doubtful(world.cut, end, world.evidence, is_old=is_old, at_tip=at_tip)
    if world.lost:
        assert doubtful
    if ahead and following == ahead[0].number:
        assert not doubtful
    if not is_old and expected is None:
        assert not doubtful


@given(st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_a_record_that_was_seen_and_passed_over_is_in_doubt(seen: int, first: int, at_tip: bool) -> None:
    """However young the offset is: a plan that begins after a record which was seen is doubted, and no other."""
    cut, evidence = After(0), Evidence().with_records([Record(str(seen))])
    end = ShardOffset(After(9), first=first)
    assert is_doubtful(cut, end, evidence, is_old=False, at_tip=at_tip) == (first > seen)
    nothing = ShardOffset(cut)
    assert is_doubtful(cut, nothing, evidence, is_old=False, at_tip=at_tip) == at_tip
    assert not is_doubtful(cut, nothing, Evidence(), is_old=False, at_tip=at_tip)


@given(st.integers(-MARGIN_MS, MARGIN_MS))
def test_a_record_counts_as_expired_a_minute_early(early_ms: int) -> None:
    """Arrival times and clocks are not exact."""
    assert is_expiring(KEPT_MS + early_ms, NOW_MS, HOURS) == (early_ms < MARGIN_MS)


@given(worlds())
def test_a_loss_is_described_as_users_know_it(world: World) -> None:
    """The text has the cut as users write it, and no name of a class of ours."""
    loss = judged(world, HOURS)
    if loss is not None:
        text = describe(loss, world.cut)
        assert "(" not in text.replace("(age ", "")
        assert str(world.cut) in text or isinstance(loss, RecordExpired)
        assert ("no record is left" in text) == (world.oldest is None)
