"""Positions as users write them: words, times, maps of shards."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from kinesis_core.errors import OffsetError
from kinesis_core.model import After, At, AtTimestamp, Latest, PerShard, PerStream, ShardEnd, TrimHorizon
from kinesis_core.options import BadValueError, ending_position, starting_position
from kinesis_core.options.foreign.dates import parse_java_time
from kinesis_core.options.times import parse_moment, parse_time

NINE_UTC = 1769850000000  # 2026-01-31T09:00:00Z
SHARD = "shardId-000000000001"
NUMBER = "49660000000000000000000000000000000000000000000000000018"
FORMAT = "MM/dd/yyyy HH:mm:ss ZZZ"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("LATEST", Latest()),
        ("latest", Latest()),
        ("TRIM_HORIZON", TrimHorizon()),
        ("earliest", TrimHorizon()),
        ("AT_TIMESTAMP 2026-01-31T09:00:00Z", AtTimestamp(NINE_UTC)),
        ("2026-01-31T09:00:00Z", AtTimestamp(NINE_UTC)),
        ("2026-01-31 11:00 +02:00", AtTimestamp(NINE_UTC)),
        (json.dumps({SHARD: "2026-01-31T09:00:00Z"}), PerShard({SHARD: AtTimestamp(NINE_UTC)})),
        (json.dumps({"orders": "2026-01-31T09:00:00Z"}), PerStream({"orders": AtTimestamp(NINE_UTC)})),
        ("at_timestamp   2026-01-31T09:00:00Z", AtTimestamp(NINE_UTC)),
        (f"AT_TIMESTAMP {NINE_UTC}", AtTimestamp(NINE_UTC)),
        ('{"at_timestamp": "2026-01-31T09:00:00Z"}', AtTimestamp(NINE_UTC)),
        (f'{{"at_timestamp": {NINE_UTC}}}', AtTimestamp(NINE_UTC)),
        (json.dumps({"AT_TIMESTAMP": "01/31/2026 01:00:00 PST", "Format": FORMAT}), AtTimestamp(NINE_UTC)),
        (json.dumps({SHARD: "TRIM_HORIZON"}), PerShard({SHARD: TrimHorizon()})),
        (json.dumps({SHARD: "latest"}), PerShard({SHARD: Latest()})),
        (json.dumps({SHARD: "SHARD_END"}), PerShard({SHARD: ShardEnd()})),
        (json.dumps({SHARD: f"AT_TIMESTAMP {NINE_UTC}"}), PerShard({SHARD: AtTimestamp(NINE_UTC)})),
        (json.dumps({SHARD: {"AT_TIMESTAMP": NINE_UTC}}), PerShard({SHARD: AtTimestamp(NINE_UTC)})),
        (json.dumps({SHARD: {"AT": NUMBER}}), PerShard({SHARD: At(int(NUMBER))})),
        (json.dumps({SHARD: {"AFTER": NUMBER}}), PerShard({SHARD: After(int(NUMBER))})),
        (json.dumps({SHARD: {"at_sequence_number": NUMBER}}), PerShard({SHARD: At(int(NUMBER))})),
        (json.dumps({SHARD: {"AFTER_SEQUENCE_NUMBER": int(NUMBER)}}), PerShard({SHARD: After(int(NUMBER))})),
        (
            json.dumps({"orders": "latest", "arn:aws:kinesis:eu-west-1:1:stream/a": {SHARD: {"AT": NUMBER}}}),
            PerStream(
                {
                    "orders": Latest(),
                    "arn:aws:kinesis:eu-west-1:1:stream/a": PerShard({SHARD: At(int(NUMBER))}),
                }
            ),
        ),
        (json.dumps({"a": {"at_timestamp": NINE_UTC}}), PerStream({"a": AtTimestamp(NINE_UTC)})),
    ],
)
def test_starts(text: str, position: object) -> None:
    """Words work in any case. Times, JSON of Databricks and maps of shards are accepted."""
    assert starting_position().parse(text) == position


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", ""),
        ("NEWEST", ""),
        ("AT_TIMESTAMP", ""),
        ("AT_TIMESTAMP yesterday", "An example of a time is 2026-01-31T09:00:00Z."),
        ("AT_TIMESTAMP 2026-01-31", "An example of a time is 2026-01-31T09:00:00Z."),
        ("2026-01-31", "An example of a time is 2026-01-31T09:00:00Z."),
        ("2026-01-31T09:00:00", "Add Z or an offset such as +02:00"),
        (str(NINE_UTC), "A number is a time only after AT_TIMESTAMP."),
        ("AT_TIMESTAMP 2026-01-31T09:00:00", "Add Z or an offset such as +02:00"),
        ("AT_TIMESTAMP 2026-02-30T09:00:00Z", "The time does not exist: day is out of range for month."),
        ("AT_TIMESTAMP 1969-12-31T23:59:59Z", "The time is before 1970."),
        ("{", "The text is not JSON"),
        ("{}", "The JSON object must have at least one shard."),
        (
            f'{{"orders": "LATEST", "{SHARD}": "LATEST"}}',
            "'orders' is not a shard id such as shardId-000000000000.",
        ),
        ('{"no stream": "LATEST"}', "'no stream' is not a shard id"),
        ('{"orders": "NEWEST"}', "The position of stream 'orders' is not valid."),
        ('{"orders": 1}', "The position of stream 'orders' is not valid."),
        (
            f'{{"orders": {{"{SHARD}": "NEWEST"}}}}',
            f"'orders' is not valid. The position of {SHARD} is not valid.",
        ),
        ('{"orders": {"returns": "LATEST"}}', "The position of stream 'orders' is not valid."),
        (
            '{"orders": "LATEST"} {"returns": "LATEST"}',
            "Several JSON objects are accepted only for the files",
        ),
        ('{"orders": "LATEST"} 1', "Each part of the text must be a JSON object."),
        (f'{{"{SHARD}": "LATEST", "{SHARD}": "TRIM_HORIZON"}}', "The JSON object has a name twice."),
        (f'{{"{SHARD}": "NEWEST"}}', f"The position of {SHARD} is not valid."),
        (f'{{"{SHARD}": 1}}', f"The position of {SHARD} is not valid."),
        (f'{{"{SHARD}": {{"BEHIND": "1"}}}}', f"The position of {SHARD} is not valid."),
        (f'{{"{SHARD}": {{"AT": "x"}}}}', "A sequence number is 1 to 129 digits."),
        (f'{{"{SHARD}": {{"AT": "{"9" * 130}"}}}}', "A sequence number is 1 to 129 digits."),
        (f'{{"{SHARD}": {{"AT": "1", "AFTER": "1"}}}}', f"The position of {SHARD} is not valid."),
        ('{"at_timestamp": true}', "'at_timestamp' and 'format' must be texts."),
        ('{"at_timestamp": "1", "zone": "Z"}', "Only 'format' is accepted together with 'at_timestamp'."),
    ],
)
def test_bad_starts(text: str, hint: str) -> None:
    """Text that is not a position is refused, with a hint if there is one."""
    with pytest.raises(BadValueError) as caught:
        starting_position().parse(text)
    assert caught.value.hint.startswith(hint) or hint in caught.value.hint


HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    "text",
    [
        *(
            "3h ago",
            "3h",
            "3 hours ago",
            "180m",
            "2h 60 min",
            "2h59m60s ago",
            "PT3H",
            "pt3h ago",
            "P0DT2H60M",
        ),
        *("AT_TIMESTAMP 3h ago", "0.125d", "3H AGO"),
    ],
)
def test_a_duration_counts_back_from_now(text: str) -> None:
    """It becomes a time when it is parsed, with or without `ago`, in the forms of units and of ISO 8601."""
    three_hours_ago = AtTimestamp(NINE_UTC - 3 * HOUR_MS)
    for parse in (starting_position(lambda: NINE_UTC).parse, ending_position(lambda: NINE_UTC).parse):
        assert parse(text) == three_hours_ago
        assert parse(json.dumps({SHARD: text})) == PerShard({SHARD: three_hours_ago})
        assert parse(json.dumps({SHARD: {"AT_TIMESTAMP": text.removeprefix("AT_TIMESTAMP ")}})) == PerShard(
            {SHARD: three_hours_ago}
        )
        assert parse(json.dumps({"orders": text, "returns": "LATEST"})) == PerStream(
            {"orders": three_hours_ago, "returns": Latest()}
        )


def test_one_position_has_one_now() -> None:
    """Two durations in one position count from the same moment, however long parsing takes."""
    times = iter([NINE_UTC, NINE_UTC + HOUR_MS])
    position = starting_position(lambda: next(times)).parse('{"orders": "3h", "returns": "3h"}')
    assert isinstance(position, PerStream)
    assert len(set(position.positions.values())) == 1


def test_a_duration_reaches_back_to_1970() -> None:
    """Kinesis knows no earlier time. What has expired by then is reported as for any other time."""
    assert starting_position(lambda: NINE_UTC).parse("P99999D") == AtTimestamp(0)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("-3h", "A duration counts back from now and has no sign: 3h is three hours ago."),
        ("+3h", "has no sign"),
        ("-P3D", "has no sign"),
        ("in 3h", "has no sign"),
        ("10", "A duration has a unit, as in 10m."),
        ("10.5", "A duration has a unit, as in 10m."),
        ("10 ago", "The units are ms, s, m, h and d."),
        ("3 weeks ago", "The units are ms, s, m, h and d."),
        ("30m 1h", "Write the largest unit first, and each unit once."),
        ("1h 1h", "Write the largest unit first, and each unit once."),
        ("1h 30", "The units are ms, s, m, h and d."),
        ("P1M", "days, hours, minutes and seconds"),
        ("P1Y2DT3H", "days, hours, minutes and seconds"),
        ("P3D4H", "days, hours, minutes and seconds"),
        ("PT3D", "days, hours, minutes and seconds"),
        ("3h later", "A duration is 3h or PT3H."),
        ("3h ago ago", "A duration is 3h or PT3H."),
    ],
)
def test_other_durations_are_refused(text: str, hint: str) -> None:
    """What is in the future, has no unit, or has a unit of no fixed length is an error that says so."""
    for parser in (starting_position(), ending_position()):
        with pytest.raises(BadValueError) as caught:
            parser.parse(text)
        assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-01-31", NINE_UTC - 9 * HOUR_MS),
        ("2026-01-31T09:00", NINE_UTC),
        ("2026-01-31 09:00:00", NINE_UTC),
        ("2026-01-31T11:00+02:00", NINE_UTC),
    ],
)
def test_a_zone_for_times_without_one(text: str, ms: int) -> None:
    """A caller may read dates and times without a zone in a zone of its own. A date is its first moment."""
    for parser in (starting_position(zone="Z"), ending_position(zone="Z")):
        assert parser.parse(text) == parser.parse(f"AT_TIMESTAMP {text}") == AtTimestamp(ms)


@given(
    parts=st.fixed_dictionaries(
        {unit: st.integers(0, 500) for unit in ("d", "h", "m", "s")},
    ).filter(lambda parts: any(parts.values())),
    ago=st.sampled_from(["", " ago"]),
    gap=st.sampled_from(["", " "]),
)
def test_any_duration(parts: dict[str, int], ago: str, gap: str) -> None:
    """Units and ISO 8601 name the same moment as Python's timedelta."""
    seconds = parts["d"] * 86400 + parts["h"] * 3600 + parts["m"] * 60 + parts["s"]
    units = gap.join(f"{parts[unit]}{gap}{unit}" for unit in ("d", "h", "m", "s") if parts[unit])
    time = "".join(f"{parts[unit]}{unit.upper()}" for unit in ("h", "m", "s") if parts[unit])
    date = f"{parts['d']}D" if parts["d"] else ""
    iso = f"P{date}T{time}" if time else f"P{date}"
    for text in (units, iso):
        assert parse_moment(text + ago, NINE_UTC) == NINE_UTC - seconds * 1000


@pytest.mark.parametrize("version", [1, 2, 99, None, 1.0, True])
@pytest.mark.parametrize(
    "text",
    [
        '{{"version": {}}}',
        '{{"version": {}, "streams": {{}}}}',
        'v1\n{{"batchWatermarkMs": 0, "batchTimestampMs": 5, "conf": {{}}}}\n{{"version": {}, "streams": {{}}}}',
        '{{"orders": {{"version": {}}}}}',
    ],
)
def test_a_saved_offset_is_named(text: str, version: Any) -> None:
    """An offset, or a file of a checkpoint that has one, is refused. If its version is not ours, the error has both."""
    shown = json.dumps(version)
    told = (
        "is a saved offset, not"
        if shown in ("1", "2")
        else rf"has version {shown}\. This release reads versions 1 and 2\."
    )
    for parser in (starting_position(), ending_position()):
        with pytest.raises(OffsetError, match=told):
            parser.parse(text.format(shown))


def test_a_stream_may_have_the_name_version() -> None:
    """Its position is a text or an object, and the version of an offset is not."""
    assert starting_position().parse('{"version": "LATEST"}') == PerStream({"version": Latest()})
    assert starting_position().parse(json.dumps({"version": {SHARD: "LATEST"}})) == PerStream(
        {"version": PerShard({SHARD: Latest()})}
    )


def test_deep_json() -> None:
    """JSON that is nested too deeply is refused like any other text."""
    with pytest.raises(BadValueError):
        starting_position().parse('{"a":' * 100_000)


@pytest.mark.parametrize(
    "text",
    ["LATEST", f"AT_TIMESTAMP {NINE_UTC}", "2026-01-31T09:00:00Z", json.dumps({SHARD: {"AFTER": NUMBER}})],
)
def test_ends(text: str) -> None:
    """A batch read ends at the newest record, at a time, or at a cut in each shard."""
    assert ending_position().parse(text) == starting_position().parse(text)


@pytest.mark.parametrize("text", ["TRIM_HORIZON", "EARLIEST", json.dumps({SHARD: "TRIM_HORIZON"})])
def test_no_ends(text: str) -> None:
    """A batch read cannot end at the oldest record."""
    with pytest.raises(BadValueError):
        ending_position().parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T09:00:00Z",
        "2026-01-31t09:00z",
        "2026-01-31 09:00:00 Z",
        "2026-01-31 09:00:00 UTC",
        "2026-01-31T14:30:00+05:30",
        "2026-01-31T01:00:00-08:00",
        "2026-01-31T01:00:00-0800",
        "2026-01-31T11:00:00.000+02",
        "1769850000",
        "1769850000.000",
        "1769850000000",
    ],
)
def test_one_moment(text: str) -> None:
    """Z, positive and negative offsets, and seconds and milliseconds since the epoch give the same time."""
    assert parse_time(text) == NINE_UTC


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("01/31/2026 01:00:00 PST", FORMAT),
        ("01/31/2026 01:00:00 -0800", FORMAT),
        ("2026-01-31T09:00:00.000Z", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"),
        ("2026-01-31T11:00:00.000+02:00", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"),
        ("31 Jan 2026 9:00 am UTC", "dd MMM yyyy h:mm a z"),
        ("31 January 2026 4 o'clock EST", "d MMMM yyyy H 'o''clock' z"),
        ("2026-01-31 09:00:00 GMT+00:00", "yyyy-MM-dd HH:mm:ss z"),
    ],
)
def test_java_formats(text: str, pattern: str) -> None:
    """The common letters of Java's date formats are accepted, and the time zones of the USA."""
    assert parse_java_time(text, pattern) == NINE_UTC


@pytest.mark.parametrize(
    ("text", "pattern", "hint"),
    [
        ("01/31/2026", "MM/dd/yyyy", "Add Z or an offset"),
        ("01/31/26 PST", "MM/dd/yy z", "The format has 'yy', which is not supported."),
        ("week 5", "'week' w", "The format has 'w', which is not supported."),
        ("2026-01-31 09:00:00 Z", FORMAT, "The time does not match its format"),
        (
            "01/31/2026 01:00:00 IST",
            FORMAT,
            "The zone 'IST' is not supported. Write an offset such as +02:00.",
        ),
        ("01/31/2026 13:00 AM Z", "MM/dd/yyyy hh:mm a X", "The hour 13 does not exist with AM or PM."),
        ("01/31/2026 01:00 Z", "MM/dd/yyyy hh:mm X", "is not valid. An example is"),
        ("01/31 Z", "MM/dd X", "is not valid. An example is"),
        ("x", "yyyy yyyy", "has the year twice"),
        ("31 Foo 2026 Z", "dd MMM yyyy X", "The month 'Foo' does not exist."),
        ("x", "yyyy-MM-dd 'open", "is not valid. An example is"),
    ],
)
def test_bad_java_formats(text: str, pattern: str, hint: str) -> None:
    """What is not supported is refused and named."""
    with pytest.raises(BadValueError) as caught:
        parse_java_time(text, pattern)
    assert hint in caught.value.hint


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
)
def test_any_moment(naive: datetime, offset_minutes: int) -> None:
    """A time in Python's ISO 8601 is read as the same time, rounded down to milliseconds."""
    moment = naive.replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    assert parse_time(moment.isoformat()) == (moment - epoch) // timedelta(milliseconds=1)


@given(
    st.one_of(
        st.text(max_size=60), st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps)
    )
)
@example("{" + " " * 10)
def test_any_text(text: str) -> None:
    """Any text is a position or refused. Nothing else happens."""
    for parser in (starting_position(), ending_position()):
        try:
            parser.parse(text)
        except BadValueError:
            continue


@given(
    st.dictionaries(
        st.sampled_from([SHARD, "at_timestamp", "format", "metadata", "kclApplication", "region"]),
        st.text() | st.none() | st.integers(),
    )
)
def test_any_object(document: dict[str, Any]) -> None:
    """Any JSON object is a position or refused. Nothing else happens."""
    try:
        starting_position().parse(json.dumps(document))
    except BadValueError:
        return


@given(
    st.text(alphabet="yMdHhamsSzZXx'/-: 0126APST", max_size=30), st.text(alphabet="0126 APST:-/", max_size=30)
)
def test_any_java_format(pattern: str, text: str) -> None:
    """Any format and time give a time or are refused. Nothing else happens."""
    try:
        parse_java_time(text, pattern)
    except BadValueError:
        return
