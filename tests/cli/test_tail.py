"""`kinesis tail` shows the records of a stream as they arrive."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psutil  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

from kinesis_emulator import Emulator, Request, Settings
from support.aggregates import aggregate
from support.command_line import KINESIS, CommandLine
from support.loops import variants
from support.streams import StreamUnderTest, make_client
from support.waiting import PATIENCE_S, wait_until

Create = Callable[[int], str]
NOW = ("--no-follow", "--since", "TRIM_HORIZON")


@pytest.fixture
def orders(emulator: Emulator, create: Create) -> str:
    """A stream with three records."""
    stream = create(1)
    emulator.put(stream, b'{"total": 9}', "c-1")
    emulator.put(stream, b"a\tb", "c-2")
    emulator.put(stream, b'{"total": 10,\n "x": [1]}', "c-3")
    return stream


def test_text(kinesis: CommandLine, orders: str) -> None:
    """A line has time, key and payload: JSON as JSON on one line, everything else with escapes."""
    lines = kinesis("tail", orders, *NOW).lines
    assert [line.partition("Z ")[2] for line in lines] == [
        'c-1 {"total": 9}',
        "c-2 a\\tb",
        'c-3 {"total":10,"x":[1]}',
    ]
    assert all(line[10] == "T" and line[23] == "Z" for line in lines)


def test_the_last_records(kinesis: CommandLine, orders: str) -> None:
    """-n shows the last records, also within a time and of those that are wanted."""
    assert kinesis("tail", orders, "-n", "2", "--no-follow", "-f", "%k").lines == ["c-2", "c-3"]
    assert kinesis("tail", orders, "-n", "9", "--no-follow", "-f", "%k").lines == ["c-1", "c-2", "c-3"]
    assert kinesis("tail", orders, "-n", "9", "--since", "1h", "--until", "now", "-f", "%k").lines == [
        *("c-1", "c-2", "c-3")
    ]
    assert kinesis("tail", orders, "-n", "1", "--no-follow", "--key", "c-1", "-f", "%k").lines == ["c-1"]


def test_the_last_records_before_a_time(kinesis: CommandLine, orders: str) -> None:
    """-n counts back from --until, and shows nothing that came later."""
    assert kinesis("tail", orders, "-n", "2", "--until", "1h", "-f", "%k").lines == []


@contextmanager
def producing(emulator: Emulator, stream: str, keys: int) -> Iterator[Callable[[], dict[str, int]]]:
    """Put numbered records of some keys all the time in this block. Yield a function that ends it and returns each key's count."""
    counts = dict.fromkeys((f"c-{key}" for key in range(keys)), 0)
    stop = threading.Event()

    def put() -> None:
        while not stop.wait(0.001):
            for key, number in counts.items():
                emulator.put(stream, b"%d" % number, key)
                counts[key] = number + 1

    thread = threading.Thread(target=put)
    thread.start()

    def end() -> dict[str, int]:
        stop.set()
        thread.join()
        return counts

    try:
        yield end
    finally:
        end()


@pytest.mark.parametrize(
    "options",
    [
        ("--no-follow",),
        ("--until", "now"),
        ("--no-follow", "--since", "TRIM_HORIZON"),
        ("--no-follow", "--shard", "1"),
        ("--no-follow", "--key", "c-2"),
        ("--no-follow", "--where", "true"),
        ("--no-follow", "--efo", "me"),
    ],
)
def test_as_many_as_were_asked_for(
    kinesis: CommandLine, emulator: Emulator, create: Create, options: tuple[str, ...]
) -> None:
    """-n of a span that has ended shows exactly so many records, while a producer writes more all the time."""
    stream = create(2)
    with producing(emulator, stream, keys=8):
        wait_until(lambda: len(emulator.records(stream)) > 100)
        assert len(kinesis("tail", stream, "-n", "3", *options).lines) == 3


def test_none_of_the_last(kinesis: CommandLine, orders: str, emulator: Emulator) -> None:
    """-n 0 shows new records only, so nothing with --no-follow."""
    assert kinesis("tail", orders, "-n", "0", "--no-follow").out == b""
    assert kinesis("tail", orders, "-n", "0", "--since", "1h", "--until", "now").out == b""
    with (
        producing(
            emulator, orders, keys=1
        ),  # until the command has found the end, what it finds there is old
        kinesis.started("tail", orders, "-n", "0", "--since", "1h", "-f", "%k") as tail,
    ):
        assert tail.lines(1) == ["c-0"]


def test_the_last_and_what_follows(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """Behind the last records come all later ones, each once, also while shards are split and merged."""
    stream = create(2)
    with (
        producing(emulator, stream, keys=4) as end,
        kinesis.started("tail", stream, "-n", "40", "-f", "%k %s") as tail,
    ):
        shown = tail.lines(60)
        first, second = emulator.shard_ids(stream)
        _, right = emulator.split(stream, first)
        shown += tail.lines(100)
        emulator.merge(stream, right, second)
        counts = end()
        left = {f"{key} {number - 1}" for key, number in counts.items()} - set(shown)
        while left:
            shown += tail.lines(1)
            left.discard(shown[-1])
        assert tail.interrupt().out == b""
    for key, end_of_key in counts.items():
        numbers = [int(line.split()[1]) for line in shown if line.startswith(f"{key} ")]
        assert numbers == list(range(end_of_key - len(numbers), end_of_key))


def test_the_last_of_a_stream_that_was_resharded(
    kinesis: CommandLine, emulator: Emulator, create: Create
) -> None:
    """Records of closed shards count, shards without records do not, and aggregates count by their user records."""
    stream = create(2)
    for number in range(4):
        emulator.put(stream, b"%d" % number, "c-1")
    for shard_id in emulator.shard_ids(stream):
        emulator.split(stream, shard_id)
    emulator.put(stream, aggregate([("c-1", None, b"4"), ("c-1", None, b"5")]), "c-1")
    assert kinesis("tail", stream, "-n", "4", "--no-follow", "-o", "raw").lines == ["2", "3", "4", "5"]
    assert kinesis("tail", stream, "-n", "1", "--no-follow", "-o", "raw").lines == ["5"]
    assert kinesis("tail", create(2), "-n", "1", "--no-follow").lines == []


def test_a_template(kinesis: CommandLine, orders: str, emulator: Emulator) -> None:
    """-f has fields for all of a record, and escapes."""
    first = emulator.records(orders)[0]
    ran = kinesis("tail", orders, *NOW, "--key", "c-1", "-f", r"%p\t%q %u %h %S %T %%%s")
    assert ran.text == (
        f'shardId-000000000000\t{first.sequence_number} 0 - 12 {first.arrived_ms} %{{"total": 9}}\n'
    )


def test_json(kinesis: CommandLine, orders: str) -> None:
    """-o json is a line with all of a record. A payload that is JSON stays what it is."""
    first, second, third = map(json.loads, kinesis("tail", orders, *NOW, "-o", "json").lines)
    assert first["data"] == {"total": 9}
    assert second["data"] == "a\tb"
    assert third["data"] == '{"total": 10,\n "x": [1]}'
    assert first.keys() == {"arrived", "shardId", "sequenceNumber", "partitionKey", "data"}


def test_raw(kinesis: CommandLine, orders: str) -> None:
    """-o raw is the payloads, with a delimiter after each."""
    assert kinesis("tail", orders, *NOW, "-o", "raw", "--key", "c-2").out == b"a\tb\n"
    assert kinesis("tail", orders, *NOW, "-o", "raw", "--key", "c-2", "--delimiter", r"\0").out == b"a\tb\0"


@pytest.mark.everything
def test_arrow_is_not_for_a_terminal(kinesis: CommandLine, orders: str) -> None:
    """Binary output on a terminal is refused."""
    ran = kinesis.on_terminal("tail", orders, *NOW, "-o", "arrow")
    assert ran.status == 1
    assert "> FILE" in ran.text


def test_a_program_of_jq(kinesis: CommandLine, orders: str) -> None:
    """--where is a program of jq. Records that it cannot be applied to are counted, without their payload."""
    ran = kinesis("tail", orders, *NOW, "--where", ".total > 9", "-f", "%k")
    assert ran.lines == ["c-3"]
    assert ran.err == "Left out, because not JSON: 1 record.\n"
    ran = kinesis("tail", orders, *NOW, "--where", '.total | error("payload \\(.)")', "-f", "%k")
    assert ran.lines == []
    assert ran.err == (
        "Left out, because not JSON: 1 record.\n"
        "Left out, because --where failed: 2 records. To see why, run jq on what '-o raw' writes.\n"
    )


def test_what_was_left_out_after_ctrl_c(kinesis: CommandLine, orders: str) -> None:
    """Ctrl-C is the usual end of a command that follows. The last lines say then what was left out, too."""
    with kinesis.started(
        "tail", orders, "--since", "TRIM_HORIZON", "--where", ".total > 9", "-f", "%k"
    ) as tail:
        assert tail.lines(1) == ["c-3"]
        ran = tail.interrupt()
    assert (ran.status, ran.err) == (130, "Left out, because not JSON: 1 record.\n")


@pytest.mark.parametrize("number", variants([signal.SIGINT, signal.SIGTERM]))
@pytest.mark.parametrize("program", variants(["until(false; .)", "repeat(empty)"]))
def test_stop_a_program_without_end(
    kinesis: CommandLine, orders: str, program: str, number: signal.Signals
) -> None:
    """jq lets no signal through. Ctrl-C ends the command all the same, and the process of jq with it."""
    with kinesis.started("tail", orders, *NOW, "--where", program) as running:
        jq = process_of_jq(running.process.pid)
        started_s = jq.cpu_times().user
        wait_until(lambda: jq.cpu_times().user > started_s + 0.2)
        ran = running.end(number)
    assert (ran.status, ran.out, ran.err) == (128 + number, b"", "")
    wait_until(lambda: not jq.is_running() or jq.status() == psutil.STATUS_ZOMBIE)


def test_jq_crashes(kinesis: CommandLine, emulator: Emulator, orders: str) -> None:
    """A program whose recursion has no end makes jq crash when the memory is used up. It is an error of the command."""
    with kinesis.started("tail", orders, "-n", "3", "--where", ".total > 9", "-f", "%k") as running:
        assert running.lines(1) == ["c-3"]
        process_of_jq(running.process.pid).kill()
        emulator.put(orders, b"{}", "c-4")
        ran = running.rest()
    assert (ran.status, ran.out) == (1, b"")
    assert ran.err.splitlines()[-1].startswith(
        "kinesis tail: jq crashed (status -9) while it ran '.total > 9'."
    )


def test_jq_ends_with_a_command_that_is_killed(kinesis: CommandLine, orders: str) -> None:
    """A program without end does not notice by itself that nobody waits for it any more."""
    with kinesis.started("tail", orders, *NOW, "--where", "repeat(empty)") as running:
        jq = process_of_jq(running.process.pid)
        started_s = jq.cpu_times().user
        wait_until(lambda: jq.cpu_times().user > started_s + 0.2)
        running.process.kill()
        wait_until(lambda: not jq.is_running() or jq.status() == psutil.STATUS_ZOMBIE)


def process_of_jq(command: int) -> psutil.Process:
    """Wait until the process *command* has a child, and return it."""
    wait_until(lambda: bool(psutil.Process(command).children()))
    return psutil.Process(command).children()[0]


def test_aggregates_are_unpacked(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """User records of a KPL aggregate are shown one by one, with their own keys."""
    stream = create(1)
    emulator.put(stream, aggregate([("c-1", "17", b"one"), ("c-2", None, b"two")]), "a")
    assert kinesis("tail", stream, *NOW, "-f", "%k %h %u %s").lines == ["c-1 17 0 one", "c-2 - 1 two"]


def test_shards(kinesis: CommandLine, emulator: Emulator, create: Create) -> None:
    """--shard reads some shards. It ends when they have ended, and says so."""
    stream = create(2)
    first, second = emulator.shard_ids(stream)
    for number in range(20):
        emulator.put(stream, b"%d" % number, f"c-{number}")
    assert set(kinesis("tail", stream, *NOW, "--shard", "1", "-f", "%p").lines) == {second}
    emulator.split(stream, first)
    ran = kinesis("tail", stream, "--since", "TRIM_HORIZON", "--shard", first, "-f", "%p")
    assert set(ran.lines) == {first}
    assert ran.err == "The shards have ended. Their children, and all other shards, were not read.\n"


def test_it_follows_until_ctrl_c(kinesis: CommandLine, orders: str, emulator: Emulator) -> None:
    """New records are shown as they come. Ctrl-C ends the command without a word, with status 130."""
    with kinesis.started("tail", orders, "-n", "9", "-f", "%k") as tail:
        assert tail.lines(3) == ["c-1", "c-2", "c-3"]
        emulator.put(orders, b"x", "c-4")
        assert tail.lines(1) == ["c-4"]
        ran = tail.interrupt()
    assert (ran.status, ran.out, ran.err) == (130, b"", "")


def test_nohup(installed: CommandLine, orders: str, emulator: Emulator) -> None:
    """A command that was started with nohup goes on without its terminal."""
    with installed.started("tail", orders, "-n", "1", "-f", "%k", under=["nohup"]) as tail:
        tail.lines(1)
        tail.process.send_signal(signal.SIGHUP)
        emulator.put(orders, b"x", "c-4")
        assert tail.lines(1) == ["c-4"]
        assert tail.interrupt().status == 130


def test_until_a_time(kinesis: CommandLine, orders: str) -> None:
    """--until a time in the future ends the command then."""
    soon_s = int(time.time() + 2)
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(soon_s))
    ran = kinesis("tail", orders, "--since", "1h", "--until", soon, "-f", "%k")
    assert time.time() >= soon_s
    assert ran.lines == ["c-1", "c-2", "c-3"]


def test_each_record_once_through_splits_and_merges(
    kinesis: CommandLine, emulator: Emulator, create: Create
) -> None:
    """While shards are split and merged, each record is shown once, and those of a key in their order."""
    stream, numbers = create(2), count()
    with kinesis.started("tail", stream, "--since", "TRIM_HORIZON", "-f", "%k %s") as tail:

        def put(records: int) -> list[str]:
            for _ in range(records):
                number = next(numbers)
                emulator.put(stream, b"%d" % number, f"c-{number % 7}")
            return tail.lines(records)

        shown = put(20)
        first, second = emulator.shard_ids(stream)
        left, right = emulator.split(stream, first)
        shown += put(20)
        merged = emulator.merge(stream, right, second)
        shown += put(20)
        emulator.merge(stream, left, merged)
        shown += put(20)
        ran = tail.interrupt()
    assert ran.out == b""
    found = [(key, int(number)) for key, number in (line.split() for line in shown)]
    assert sorted(number for _, number in found) == list(range(80))
    for key in {key for key, _ in found}:
        own = [number for each, number in found if each == key]
        assert own == sorted(own)


def test_a_reader_that_has_enough(kinesis: CommandLine, orders: str) -> None:
    """`kinesis tail | head -1` ends at once and says nothing, although no other record comes."""
    command = f"{KINESIS} tail {orders} --since 1h -f %k | head -1"
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        env=kinesis.environment,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (141, b"c-1\n", b"")


@pytest.mark.everything
def test_colours_on_a_terminal(kinesis: CommandLine, orders: str) -> None:
    """On a terminal key and JSON have colours, and nothing in a payload can control the terminal."""
    shown = kinesis.on_terminal("tail", orders, *NOW).text
    assert "\33[36mc-1\33[0m" in shown
    assert '{\33[34m"total"\33[0m: \33[33m9\33[0m}' in shown
    plain = kinesis.having({"NO_COLOR": "1"}).on_terminal("tail", orders, *NOW).text
    assert "\33" not in plain


def test_fan_out_removes_what_it_registered(kinesis: CommandLine, orders: str, emulator: Emulator) -> None:
    """--efo registers a consumer and removes it at the end, also after Ctrl-C."""
    client = make_client(emulator.endpoint_url, emulator.settings.region)
    (arn,) = [client.describe_stream_summary(StreamName=orders)["StreamDescriptionSummary"]["StreamARN"]]

    def consumers() -> list[str]:
        listed = client.list_stream_consumers(StreamARN=arn)["Consumers"]
        return [each["ConsumerName"] for each in listed if each["ConsumerStatus"] != "DELETING"]

    with kinesis.started("tail", orders, "--since", "1h", "--efo", "me", "-f", "%k") as tail:
        assert tail.lines(3) == ["c-1", "c-2", "c-3"]
        assert consumers() == ["me"]
        assert tail.interrupt().status == 130
    assert consumers() == []


@pytest.mark.parametrize("command", [("tail", "-n", "1", "--no-follow"), ("dump",)])
def test_tags_of_what_fan_out_registers(kinesis: CommandLine, command: tuple[str, ...]) -> None:
    """--consumer-tags gives tags to the consumer that --efo registers, in each command that has --efo."""
    registered: list[Any] = []

    def note(request: Request) -> None:
        if request.action == "RegisterStreamConsumer":
            registered.append(request.params.get("Tags"))

    with Emulator(settings=Settings(fault=note)) as emulator:
        emulator.create_stream("orders", 1)
        to_it = kinesis.to(emulator)
        name, *options = command
        to_it(name, "orders", *options, "--efo", "me", "--consumer-tags", "team=orders, stage=test")
        to_it(name, "orders", *options, "--efo", "me")
    assert registered == [{"team": "orders", "stage": "test"}, None]


@pytest.mark.everything
def test_fan_out_of_a_terminal_that_is_closed(kinesis: CommandLine, orders: str, emulator: Emulator) -> None:
    """A consumer costs money, so it is removed when a connection by ssh is lost, too."""
    with kinesis.terminal("tail", orders, "--since", "1h", "--efo", "me", "-f", "%k") as terminal:
        terminal.wait_for("c-3")
        for _ in range(2):  # from the kernel and from the shell
            terminal.process.send_signal(signal.SIGHUP)
        assert terminal.rest().status == 129
    client = make_client(emulator.endpoint_url, emulator.settings.region)
    (arn,) = [client.describe_stream_summary(StreamName=orders)["StreamDescriptionSummary"]["StreamARN"]]
    listed = client.list_stream_consumers(StreamARN=arn)["Consumers"]
    assert [each["ConsumerStatus"] for each in listed] in ([], ["DELETING"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--since", "soon"], "--since does not accept 'soon'. Examples: 10m"),
        (["--no-follow"], "--no-follow shows nothing without --since or -n."),
        (["--until", "1h"], "--until 1h shows nothing without --since or -n."),
        (["-n", "2", "-f"], "New records are followed without an option: kinesis tail STREAM."),
        (["-n", "-1"], "-n is -1. Use 0 or more records."),
        (["-f", "%y"], "-f has an unknown field '%y'. Fields: %t (arrival time)"),
        (["--where", ".a =="], "--where is '.a =='. Use a program of jq"),
        (["--shard", "7"], "has no shard shardId-000000000007. It has 1"),
        (["--external-id", "x"], "--external-id needs --role-arn."),
        (["--consumer-tags", "team=orders"], "--consumer-tags needs --efo."),
        (["--efo", "me", "--consumer-tags", "team"], "--consumer-tags is 'team'. Use tags as `KEY=VALUE`"),
        (["-o", "yaml"], "Invalid value"),
        (["-o", "raw", "--delimiter", r"\x"], r"--delimiter is '\x'. Use text with escapes"),
    ],
)
def test_wrong_options(kinesis: CommandLine, orders: str, options: list[str], message: str) -> None:
    """A wrong option is an error of one line that says what is right, with status 2."""
    ran = kinesis("tail", orders, *options, status=2)
    assert ran.err.startswith("kinesis tail: ")
    assert message in ran.err
    assert (ran.err.count("\n"), ran.out) == (1, b"")


def test_a_stream_that_does_not_exist(kinesis: CommandLine) -> None:
    """A failure is an error of one line with the code of AWS, with status 1."""
    ran = kinesis("tail", "nothing", status=1)
    assert "ResourceNotFoundException" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("output", ["text", "arrow"])
def test_nothing_to_show(kinesis: CommandLine, create: Create, output: str) -> None:
    """An empty stream is no error."""
    out = kinesis("tail", create(1), *NOW, "-o", output).out
    assert out == b"" if output == "text" else pa.ipc.open_stream(io.BytesIO(out)).read_all().num_rows == 0


@pytest.mark.witness
def test_another_server(kinesis: CommandLine, witness: str) -> None:
    """Every record of kinesis-local, which is not ours, is shown once, also across a split and a merge."""
    stream = StreamUnderTest(witness, shards=2)
    with kinesis.started(
        "tail", "orders", "--since", "TRIM_HORIZON", "-o", "raw", "--endpoint-url", witness
    ) as tail:
        shown: list[str] = []
        reshards: list[Callable[[], None]] = [stream.split, stream.merge, lambda: None]
        for reshard in reshards:
            stream.put(*(b"%d" % (len(shown) + number) for number in range(10)))
            shown += tail.lines(10)
            reshard()
        assert tail.interrupt().out == b""
    assert sorted(shown) == sorted(data.decode() for data in stream.payloads)


@pytest.mark.parametrize("closed", variants(["0<&-", "2>&-"]))
def test_closed_streams(kinesis: CommandLine, orders: str, closed: str) -> None:
    """A caller may close the standard streams that are not needed."""
    command = f"{KINESIS} tail {orders} --since 1h --no-follow -f %k {closed}"
    ran = subprocess.run(
        ["bash", "-c", command], env=kinesis.environment, capture_output=True, timeout=PATIENCE_S, check=True
    )
    assert ran.stdout == b"c-1\nc-2\nc-3\n"


def test_a_closed_output(kinesis: CommandLine, orders: str) -> None:
    """Records that cannot be written are an error."""
    command = f"{KINESIS} tail {orders} --since 1h --no-follow >&-"
    ran = subprocess.run(
        ["bash", "-c", command], env=kinesis.environment, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"kinesis tail: ")
    assert ran.stderr.count(b"\n") == 1
