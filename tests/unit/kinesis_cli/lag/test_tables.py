"""The lag of readers as text and as JSON."""

from __future__ import annotations

import pytest

from kinesis_cli.ending import CommandError, Status
from kinesis_cli.lag.results import ReaderLag, ShardLag, State, StreamLag
from kinesis_cli.lag.showing import show_lag, to_document
from kinesis_cli.lag.tables import SHOWN, remarks, worst_first

AT_MS = 1_790_000_000_123
NUMBER = "49605240428222307037115827613554798409561082419642105999"


def reader(
    *shards: ShardLag,
    name: str = "cp",
    kind: str = "spark",
    batch: int | None = 7,
    problem: str | None = None,
    committed_ms: int | None = None,
) -> ReaderLag:
    return ReaderLag(
        reader=name, kind=kind, shards=shards, batch=batch, problem=problem, committed_ms=committed_ms
    )


def stream(*readers: ReaderLag) -> StreamLag:
    return StreamLag(stream="orders", arn="arn", retention_ms=86_400_000, measured_ms=AT_MS, readers=readers)


def shown(capsys: pytest.CaptureFixture[str], lag: StreamLag, *, show_all: bool = False) -> list[str]:
    show_lag(lag, as_json=False, show_all=show_all)
    return capsys.readouterr().out.splitlines()


def test_one_reader(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for the reader, then a line for each shard with the last digits of its position. Finished shards are left out."""
    lag = stream(
        reader(
            ShardLag("shardId-0", State.FINISHED, 0, "SHARD_END"),
            ShardLag("shardId-1", State.CURRENT, 0, f"AFTER {NUMBER}"),
            ShardLag("shardId-2", State.BEHIND, 65_000, f"AFTER {NUMBER}"),
        )
    )
    assert shown(capsys, lag) == [
        "reader  kind         lag         behind  progress",
        "cp      spark  1 min 5 s  1 of 2 shards  batch 7 committed",
        "",
        "shard            lag  state    position",
        "shardId-2  1 min 5 s  behind   AFTER …419642105999",
        "shardId-1       0 ms  current  AFTER …419642105999",
    ]
    assert shown(capsys, lag, show_all=True)[-1] == "shardId-0       0 ms  finished  SHARD_END"


def test_two_readers_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of one shard follow each other, and say which worker has the lease."""
    query = reader(
        ShardLag("shardId-0", State.BEHIND, 900, "TRIM_HORIZON"),
        ShardLag("shardId-1", State.CURRENT, 0, "AFTER 5"),
    )
    leases = (
        ShardLag("shardId-0", State.CURRENT, 0, "AFTER 9", "worker-1"),
        ShardLag("shardId-1", State.EXPIRING, 80_000_000, "AFTER 3"),
    )
    lag = stream(query, reader(*leases, name="billing", kind="application", batch=None))
    assert shown(capsys, lag) == [
        "reader   kind                 lag         behind  progress",
        "cp       spark             900 ms  1 of 2 shards  batch 7 committed",
        "billing  application  22 h 13 min  1 of 2 shards  1 worker",
        "",
        *shown_shards(),
        "",
        "billing: 1 shard will soon lose records. The retention is 1 d.",
    ]


def shown_shards() -> list[str]:
    return [
        "shard      reader           lag  state     position      owner",
        "shardId-1  cp              0 ms  current   AFTER 5       -",
        "shardId-1  billing  22 h 13 min  expiring  AFTER 3       -",
        "shardId-0  cp            900 ms  behind    TRIM_HORIZON  -",
        "shardId-0  billing         0 ms  current   AFTER 9       worker-1",
    ]


@pytest.mark.parametrize(
    ("committed_ms", "query", "group"),
    [
        (AT_MS - 185_000, "batch 7 committed 3 min 5 s ago", "1 worker, committed 3 min 5 s ago"),
        (AT_MS + 90_000, "batch 7 committed 0 ms ago", "1 worker, committed 0 ms ago"),
        (None, "batch 7 committed", "1 worker"),
    ],
)
def test_when_a_reader_committed(
    capsys: pytest.CaptureFixture[str], committed_ms: int | None, query: str, group: str
) -> None:
    """A reader that is down and one that is slow look different. A clock that is ahead makes no time in the future."""
    shard = ShardLag("shardId-0", State.BEHIND, 900, "TRIM_HORIZON", "worker-1")
    readers = (
        reader(shard, committed_ms=committed_ms),
        reader(shard, name="billing", kind="application", batch=None, committed_ms=committed_ms),
    )
    lines = shown(capsys, stream(*readers))[1:3]
    assert [line.partition("1 shard  ")[2].strip() for line in lines] == [query, group]


def test_the_worst_first() -> None:
    """Lost records come first, then the largest lag; what is not known comes after it, and finished shards last."""
    states = [
        ("1", State.CURRENT, 0),
        ("2", State.UNKNOWN, None),
        ("3", State.FINISHED, 0),
        ("4", State.EXPIRED, 5),
        ("5", State.BEHIND, 9),
        ("6", State.GONE, None),
        ("7", State.BEHIND, 99),
    ]
    rows = worst_first([reader(*(ShardLag(*each) for each in states))], show_all=True)
    assert "".join(shard_id for shard_id, _, _ in rows) == "4675123"


def test_many_shards(capsys: pytest.CaptureFixture[str]) -> None:
    """Of many shards the worst are shown, and how many more there are."""
    shards = [ShardLag(f"shardId-{n:03}", State.BEHIND, n) for n in range(200)]
    lines = shown(capsys, stream(reader(*shards)))
    assert lines[4].startswith("shardId-199")
    assert lines[-1] == "... and 180 more shards; --all shows them."
    assert len(lines) == 4 + SHOWN + 1
    assert len(shown(capsys, stream(reader(*shards)), show_all=True)) == 4 + 200


def test_words_of_users(capsys: pytest.CaptureFixture[str]) -> None:
    """A name with brackets is shown as it is."""
    lag = stream(reader(ShardLag("shardId-0", State.CURRENT, 0, owner="[bold]w[/bold]"), name="/data/[red]x"))
    text = "\n".join(shown(capsys, lag))
    assert "/data/[red]x" in text
    assert "[bold]w[/bold]" in text


def test_remarks() -> None:
    """Lost records, and notes of the reader and of its shards, each once."""
    lost = (
        ShardLag("shardId-0", State.DOUBTFUL, 5, note="Perhaps."),
        ShardLag("shardId-1", State.DOUBTFUL, 5, note="Perhaps."),
    )
    found = remarks(stream(ReaderLag(reader="cp", kind="spark", shards=lost, notes=["A note."])))
    assert found == ["cp: records were lost or may be lost in 2 shards.", "cp: A note.", "cp: Perhaps."]


def test_a_reader_with_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    """The other readers are shown, the problem goes to the standard error, and the exit status says that something is missing."""
    lag = stream(
        reader(name="broken", kind="", batch=None, problem="broken [x] cannot be read."),
        reader(ShardLag("s", State.CURRENT, 0)),
    )
    assert show_lag(lag, as_json=False, show_all=False) is Status.INCOMPLETE
    written = capsys.readouterr()
    assert written.err == "broken [x] cannot be read.\n"
    assert "broken  -" in written.out


def test_only_readers_with_problems(capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing is known, the command fails with the problems."""
    lag = stream(reader(name="a", problem="a is missing."), reader(name="b", problem="b is missing."))
    with pytest.raises(CommandError, match=r"^a is missing. b is missing.$"):
        show_lag(lag, as_json=False, show_all=False)
    assert capsys.readouterr().out == ""


def test_json() -> None:
    """The names and values of JSON, which scripts use."""
    shards = (
        ShardLag("shardId-0", State.EXPIRED, 86_400_000, f"AFTER {NUMBER}", "worker-1", "Lost."),
        ShardLag("shardId-1", State.UNKNOWN),
    )
    read = ReaderLag(
        reader="cp",
        kind="spark",
        shards=shards,
        batch=7,
        planned=8,
        committed_ms=AT_MS - 3000,
        notes=["A note."],
    )
    lag = stream(read)
    assert to_document(lag) == {
        "stream": "orders",
        "streamArn": "arn",
        "measuredAt": "2026-09-21T14:13:20.123Z",
        "retentionMs": 86_400_000,
        "readers": [
            {
                "reader": "cp",
                "kind": "spark",
                "lagMs": 86_400_000,
                "shardsBehind": 1,
                "shardsExpiring": 0,
                "shardsLost": 1,
                "committedBatch": 7,
                "plannedBatch": 8,
                "committedAt": "2026-09-21T14:13:17.123Z",
                "problem": None,
                "notes": ["A note."],
                "shards": [
                    {
                        "shardId": "shardId-0",
                        "state": "expired",
                        "lagMs": 86_400_000,
                        "position": f"AFTER {NUMBER}",
                        "owner": "worker-1",
                        "note": "Lost.",
                    },
                    {
                        "shardId": "shardId-1",
                        "state": "unknown",
                        "lagMs": None,
                        "position": None,
                        "owner": None,
                        "note": None,
                    },
                ],
            }
        ],
    }
