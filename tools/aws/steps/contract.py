"""The suite of behaviours in tests/contract, against this target."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET

import pytest

from support.paths import ROOT
from tools.aws.contract_run import ContractRun
from tools.aws.kit import Kit, Sizes

FILES = ("streams", "listing", "reading", "writing", "resharding", "dry_runs", "account")
"""Those of fan-out are left out, because a consumer costs as much as a stream. The step fan-out has its own checks."""


def usage(sizes: Sizes) -> dict[str, float]:
    return {
        "shard_hours": sizes.contract_shards,
        "put_units": 1000,
        "on_demand_hours": 0 if sizes.contract else 1,
    }


def run(kit: Kit) -> None:
    """Run the suite in this process, which ends with the run, and note each test."""
    results = kit.folder / "results.xml"
    chosen = ["-k", kit.sizes.contract] if kit.sizes.contract else []
    os.environ.update(ContractRun(kit.ledger, kit.target).environment())
    files = (str(ROOT / "tests" / "contract" / f"test_{name}.py") for name in FILES)
    pytest.main(["-q", "-n0", "-p", "no:cacheprovider", f"--junit-xml={results}", *chosen, *files])
    if not results.exists():
        raise RuntimeError("pytest wrote no results")
    for case in ET.parse(results).iter("testcase"):  # noqa: S314 # our own file
        _note(kit, case)


def _note(kit: Kit, case: ET.Element) -> None:
    name = f"contract: {case.get('classname', '').rpartition('.')[2]}: {case.get('name')}"
    found = {each.tag: each for each in case}
    skipped = found.get("skipped")
    if skipped is not None and skipped.get("type") != "pytest.xfail":
        kit.findings.not_asked(name, str(skipped.get("message")))
        return
    failure = found.get("failure", found.get("error"))
    kit.findings.check(name, failure is None, "" if failure is None else failure.get("message"))
