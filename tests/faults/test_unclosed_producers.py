"""Programs that end without closing their producer: what was put is written, or a warning counts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from kinesis_core import Stream
from kinesis_credentials import StaticKeys
from kinesis_emulator import Emulator, Fault, Limits, Settings
from kinesis_emulator.requests import Request
from support.paths import python_path

TIMEOUT_S = 300
ROWS = 100
KEYS = StaticKeys("AKIAEXAMPLE", "example-secret")
START = """
import asyncio, atexit, gc, multiprocessing, os, signal, sys, threading, time
from kinesis_core import Producer, ProducerSettings
from kinesis_credentials import StaticKeys

def open_producer(**settings):
    return Producer.open(
        "orders",
        region="us-east-1",
        endpoint_url=sys.argv[1],
        credentials=StaticKeys("AKIAEXAMPLE", "example-secret"),
        settings=ProducerSettings(**settings),
    )

def put_all(producer):
    for number in range(100):
        producer.put(b"%d" % number, f"key-{number}")

"""
ORDERLY = {
    "the end": "producer = open_producer()\nput_all(producer)",
    "an exception": "producer = open_producer()\nput_all(producer)\nraise SystemExit('stopped')",
    "sys.exit": "producer = open_producer()\nput_all(producer)\nsys.exit(3)",
    "out of scope": "put_all(open_producer())\nos.write(1, b'collected')",
    "a cycle": """
class Holder:
    pass

holder = Holder()
holder.me, holder.producer = holder, open_producer()
put_all(holder.producer)
del holder
gc.collect()
""",
    "puts in a thread": """
producer = open_producer()
threading.Thread(target=put_all, args=(producer,)).start()
""",
    "all in a thread": "threading.Thread(target=lambda: put_all(open_producer())).start()",
    "asyncio": """
async def main():
    producer = open_producer()
    await asyncio.to_thread(put_all, producer)

asyncio.run(main())
""",
    "buffered for long": "producer = open_producer(record_max_buffered_time_s=300)\nput_all(producer)",
    "several producers": """
producers = [open_producer() for _ in range(10)]
for number in range(100):
    producers[number % 10].put(b"%d" % number, f"key-{number}")
""",
    "Ctrl-C": "producer = open_producer()\nput_all(producer)\nsignal.raise_signal(signal.SIGINT)",
    "a process of multiprocessing": """
def work():
    put_all(open_producer())

context = multiprocessing.get_context("fork")
child = context.Process(target=work)
child.start()
child.join()
""",
    "a put in a handler of the end": """
producer = open_producer()
atexit.register(lambda: put_all(producer))
""",
}
SIGNALS = {
    "in the main thread": "put_all(producer)\nsignal.raise_signal(signal.SIGTERM)",
    "from another process": "put_all(producer)\nos.write(1, b'ready')",
    "while a thread puts": """
def put_for_ever():
    while True:
        producer.put(b"more", "key")

put_all(producer)
threading.Thread(target=put_for_ever, daemon=True).start()
signal.raise_signal(signal.SIGTERM)
""",
    "after a fork": """
put_all(producer)
child = os.fork()
if not child:
    signal.raise_signal(signal.SIGTERM)
    os._exit(1)
assert os.waitpid(child, 0) == (child, signal.SIGTERM)
signal.raise_signal(signal.SIGTERM)
""",
}
PAYLOADS = {b"%d" % number for number in range(ROWS)}


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator(settings=Settings(limits=Limits.unlimited())) as emulator:
        emulator.create_stream("orders", shards=2)
        yield emulator


def start(emulator: Emulator, program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START + program, emulator.endpoint_url],
        env={**os.environ, "PYTHONPATH": python_path()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(emulator: Emulator, program: str) -> tuple[int, str]:
    """Return the exit status, and what is on the standard error."""
    with start(emulator, program) as process:
        _, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, err


def copies(emulator: Emulator) -> Counter[bytes]:
    stream = Stream.open("orders", region="us-east-1", endpoint_url=emulator.endpoint_url, credentials=KEYS)
    return Counter(record.data for record in stream.read("TRIM_HORIZON").records())


@pytest.mark.parametrize("program", ORDERLY.values(), ids=ORDERLY)
def test_an_orderly_end_writes_what_was_put(emulator: Emulator, program: str) -> None:
    """However a program ends in order, and whether or not the producer is collected before: every record is written once."""
    _, err = run(emulator, program)
    assert copies(emulator) == Counter(PAYLOADS)
    assert "records.lost" not in err


@pytest.mark.skipif(os.name == "nt", reason="its processes do not end by signals")
@pytest.mark.parametrize("program", SIGNALS.values(), ids=SIGNALS)
def test_sigterm_writes_what_was_put(emulator: Emulator, program: str) -> None:
    """SIGTERM ends a program as by default, once its producers have written what they hold."""
    endless = "producer = open_producer()\n" + program + "\nwhile True:\n    time.sleep(1)"
    with start(emulator, endless) as process:
        if "ready" in program:
            assert process.stdout is not None
            assert process.stdout.read(5) == "ready"
            process.terminate()
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == -signal.SIGTERM
    assert set(copies(emulator)) >= PAYLOADS
    assert err == ""


@pytest.mark.skipif(os.name == "nt", reason="its processes do not end by signals")
def test_a_handler_of_the_program_stays(emulator: Emulator) -> None:
    """A producer replaces no handler of SIGTERM, and leaves the default behind when it is closed."""
    program = """
def own(*_):
    sys.exit(7)

producer = open_producer()
assert callable(signal.getsignal(signal.SIGTERM))
producer.close()
assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
signal.signal(signal.SIGTERM, own)
producer = open_producer()
put_all(producer)
signal.raise_signal(signal.SIGTERM)
"""
    assert run(emulator, program) == (7, "")
    assert copies(emulator) == Counter(PAYLOADS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_leaves_the_records_to_its_parent(emulator: Emulator) -> None:
    """A forked process that ends in order writes nothing of what its parent holds, and says nothing."""
    program = """
producer = open_producer()
put_all(producer)
if not os.fork():
    sys.exit(0)
os.wait()
"""
    assert run(emulator, program) == (0, "")
    assert copies(emulator) == Counter(PAYLOADS)


UNWRITABLE = {
    "the end": "producer = open_producer(record_ttl_s=0.5)\nput_all(producer)",
    "out of scope": "put_all(open_producer(record_ttl_s=0.5))",
    "a failure long before": """
producer = open_producer(record_ttl_s=0.5, record_max_buffered_time_s=0)
put_all(producer)
while producer._sender.accumulator.failure is None:
    time.sleep(0.01)
""",
}


@pytest.mark.parametrize("program", UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_cannot_be_written_is_counted(emulator: Emulator, program: str) -> None:
    """If Kinesis cannot be reached at the end, the standard error says how many records are lost, and why."""
    emulator.settings.fault = _refuse
    status, err = run(emulator, program)
    assert status == 0
    assert err.startswith("records.lost stream=orders user_records=100 reason=")
    assert "InternalFailure" in err
    assert err.count("records.lost") == 1


def test_an_interrupted_end_is_counted(emulator: Emulator) -> None:
    """Ctrl-C while the end waits for Kinesis ends the program, and the standard error says how many records are lost."""
    emulator.settings.fault = _refuse
    program = """
producer = open_producer(record_ttl_s=3600)
put_all(producer)
wait = threading.Condition.wait


def interrupt(condition, *timeout):  # when the end waits for the producer
    if threading.current_thread() is threading.main_thread():
        signal.raise_signal(signal.SIGINT)
    return wait(condition, *timeout)


threading.Condition.wait = interrupt
"""
    _, err = run(emulator, program)
    assert "records.lost stream=orders user_records=100 reason=the program was interrupted" in err


def _refuse(request: Request) -> Fault | None:
    return Fault("InternalFailure", status=500) if request.action == "PutRecords" else None
