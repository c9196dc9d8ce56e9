"""A lack of memory, which Rust answers with the end of the process."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

from native.package import require_native

require_native()

START = '''
import base64, json, resource
from kinesis_core.aws.fast import wire
from kinesis_core.producing.packer import row_entries
from kinesis_core.producing.rows import columns_of
from kinesis_core.producing.rows import Rows
from kinesis_core.threads import find_limits

taken = []

def use_up():
    """Take all memory but some MiB, so that the allocators have no large piece left."""
    limit = find_limits().used_bytes + 8 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        while True:
            taken.append(bytes(2**20))
    except MemoryError:
        del taken[-4:]

data = bytes(10 * 2**20)
'''
READ = """
record = {"Data": base64.b64encode(data).decode(), "PartitionKey": "k", "SequenceNumber": "1"}
body = json.dumps({"Records": [record], "MillisBehindLatest": 0}).encode()
assert wire.decode_page(body, True).records is not None
use_up()
call = lambda: wire.decode_page(body, True)
"""
WRITE = """
entries = row_entries(columns_of(Rows([data], ["k"], None)))
assert wire.encode_put(entries, "orders", None)
use_up()
call = lambda: wire.encode_put(entries, "orders", None)
"""
END = """
try:
    call()
except MemoryError:
    print("no memory")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce RLIMIT_AS")
@pytest.mark.parametrize("work", [READ, WRITE], ids=["read", "write"])
def test_a_large_record(work: str) -> None:
    """A record of 10 MiB for which there is no memory is a MemoryError of Python. The process lives on."""
    ran = subprocess.run(
        [sys.executable, "-c", dedent(START + work + END)], capture_output=True, text=True, check=False
    )
    assert ran.stdout == "no memory\n", (ran.returncode, ran.stderr)
