"""
A day on AWS: run what the tests can only run against local servers, ask the open questions, and delete everything.

    python3 noxfile.py -s aws                           says what it does and costs, and asks
    python3 noxfile.py -s aws -- rehearse               the same in small against local servers, for nothing
    python3 noxfile.py -s aws -- clean                  deletes what a killed run has left
    python3 noxfile.py -s aws -- policy                 the IAM policy that a run needs
    python3 noxfile.py -s aws -- publish REPORT         writes the figures of a report into the repository

The exit status is 0 if all steps passed, 1 if one did not, 2 if nothing was done, 3 if resources are left.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from attrs import evolve
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from support.paths import ROOT
from tools.aws import policy, publishing, report
from tools.aws.cleaning import Cleaner, Left
from tools.aws.kit import FULL, SMALL, Sizes, Step, with_whole_suite
from tools.aws.ledger import Ledger, Run, RunningError, ledgers
from tools.aws.permissions import missing_permissions
from tools.aws.plan import STEPS, choose, planned
from tools.aws.prices import AS_OF, CHEAPEST, ELSEWHERE, PRICES, cost, factor, table
from tools.aws.running import CLEANING_S, Running
from tools.aws.target import Target

FOLDER = ROOT / ".nox" / "aws-runs"
"""Each run has a folder here, with its ledger, logs and report. nox may delete `.nox/aws`, the environment of the session."""
GOOD, BAD, NOTHING_DONE, LEFT = range(4)
BUDGET_USD = 1.5
LONGEST_MINUTES = 180.0


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    options = _parser().parse_args(arguments)
    try:
        return int(options.do(options))
    except NoCredentialsError:
        return _refuse("No AWS credentials were found. Name a profile with --profile, or set AWS_PROFILE.")
    except (BotoCoreError, ClientError, ValueError, RunningError) as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return _refuse("Stopped.")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _refuse(why: str) -> int:
    sys.stderr.write(f"{why}\n")
    return NOTHING_DONE


def _say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


def _run(options: argparse.Namespace) -> int:
    """Run against AWS, or against the servers that hidden options name."""
    steps = choose(options.steps)
    target = _target(options)
    if options.yes and options.budget is None:
        return _refuse("--yes needs --budget, so that it is you who says what may be spent.")
    caller = target.account()
    run = Run.begin(
        caller["account"], target.region_name, options.budget or BUDGET_USD, options.minutes * 60 + CLEANING_S
    )
    sizes = SMALL if options.small else FULL
    sizes = with_whole_suite(sizes) if options.whole_suite else sizes
    if not target.is_aws:
        sys.stdout.write("These servers are local, and charge nothing. This is what AWS would charge.\n\n")
    sys.stdout.write("\n".join(_announcement(run, caller["arn"], steps, sizes, options.minutes)) + "\n")
    if options.account not in (None, caller["account"]):
        return _refuse(f"The account is not {options.account}. Nothing was created.")
    if not options.yes and not _agrees("Type the account id to go on: ", caller["account"]):
        return _refuse("Nothing was created.")
    missing = missing_permissions(target, run)
    if missing:
        lines = "\n".join(f"  {each}" for each in missing)
        return _refuse(
            f"Nothing was created. Without these permissions a run could not delete what it makes:\n{lines}\n"
            "See the policy: python3 noxfile.py -s aws -- policy"
        )
    ledger = Ledger.begin(options.folder / run.id, run)
    _say(f"run {run.id}; its ledger is {ledger.path}")
    running = Running(target, ledger, steps, sizes, options.minutes * 60, Cleaner(target, _say), _say)
    made = running.run()
    for path in report.write(made, ledger.folder):
        _say(f"wrote {path}")
    others = ", ".join(f"{step.name} {step.outcome}" for step in made.not_passed)
    _say(
        f"{len(steps) - len(made.not_passed)} of {len(steps)} steps passed"
        + (f": {others}" if others else "")
    )
    return _end(running.left, made.is_good)


def _announcement(run: Run, arn: str, steps: Sequence[Step], sizes: Sizes, minutes: float) -> list[str]:
    """Return what the user reads before anything is created."""
    usage = planned(steps, sizes)
    lines = [f"Account {run.account}, region {run.region}, as {arn}.", "", "It does this, in this order:"]
    lines += [f"  {step.name:10} {step.what}" for step in steps]
    lines += ["", f"It costs at most, by prices of {AS_OF} ({', '.join(CHEAPEST)}):"]
    lines += [
        f"  {unit:42} {amount:>10}  {price:>18}  {usd:>9}"
        for unit, amount, price, usd in table(usage, run.region)
    ]
    lines += [f"  {'together':42} {'':10}  {'':18}  ${cost(usage, run.region):.4f}"]
    if cost(usage, run.region) > run.budget_usd:
        lines += ["  That is more than the budget. Steps that could exceed it are left out."]
    if factor(run.region) != 1:
        lines += [
            f"  The prices of {run.region} are not known here. They are taken as {ELSEWHERE} times as high."
        ]
    lines += [f"  Sources: {', '.join(sorted({price.page for price in PRICES.values()}))}"]
    return [
        *lines,
        "",
        f"It starts no step that could exceed the budget of ${run.budget_usd:.2f}, nor any after {minutes:.0f} minutes.",
        f"All streams and tables begin with {run.prefix} and are deleted at the end, also after Ctrl-C.",
        "After a kill: python3 noxfile.py -s aws -- clean",
        "",
    ]


def _agrees(question: str, wanted: str) -> bool:
    try:
        return input(question).strip() == wanted
    except EOFError:
        return False


def _end(left: Sequence[Left], is_good: bool) -> int:
    for each in left:
        _say(f"LEFT: the {each.resource.kind} {each.resource.name}: {each.why}")
    if left:
        _say("Delete it by hand, or try: python3 noxfile.py -s aws -- clean")
        return LEFT
    return GOOD if is_good else BAD


def _rehearse(options: argparse.Namespace) -> int:
    """Run in small against the local Kinesis and a local DynamoDB."""
    from tools.aws.rehearsal import local_target

    with ExitStack() as stack:
        target = stack.enter_context(local_target())
        chosen = {
            "profile": None,
            "account": None,
            "region": target.region,
            "yes": True,
            "budget": BUDGET_USD,
            "folder": options.folder / "rehearsals",  # `clean` finds nothing there: the servers end with it
        }
        urls = {
            "kinesis_url": target.kinesis_url,
            "dynamodb_url": target.dynamodb_url,
            "sts_url": target.sts_url,
        }
        small = {"small": True, "minutes": 30.0, "whole_suite": False}
        return _run(argparse.Namespace(**{**vars(options), **chosen, **urls, **small}))


def _clean(options: argparse.Namespace) -> int:
    """Delete what the ledgers here name, then what was found by name and tag alone."""
    target = _target(options)
    caller = target.account()
    cleaner, left = Cleaner(target, _say), []
    known = ledgers(options.folder)
    for ledger in known:
        run = ledger.run
        if not ledger.left():
            continue
        if run.account != caller["account"]:
            _say(f"run {run.id} is of another account, {run.account}")
            continue
        there = Cleaner(evolve(target, region=run.region), _say)
        with ledger.lock():
            left += there.clean(ledger, was_killed=True)
    found = list(cleaner.find(known=[ledger.run.id for ledger in known if ledger.left()]))
    for resource, run_id, until in found:
        _say(f"found the {resource.kind} {resource.name} of run {run_id}, which lasts until {until}")
    question = f"Delete these {len(found)} in account {caller['account']}, {target.region_name}? Type yes: "
    if found and (options.yes or _agrees(question, "yes")):
        left += cleaner.delete(found)
    if not left and not found:
        _say(f"nothing is left in account {caller['account']}, {target.region_name}")
    return _end(left, is_good=True)


def _policy(options: argparse.Namespace) -> int:
    del options
    sys.stdout.write(policy.text() + "\n")
    return GOOD


def _publish(options: argparse.Namespace) -> int:
    return publishing.publish(report.read(options.report), _say)


def _target(options: argparse.Namespace) -> Target:
    return Target(options.profile, options.region, options.kinesis_url, options.dynamodb_url, options.sts_url)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="aws", description="A day on AWS for about a dollar.")
    _add_run(parser)
    parser.set_defaults(do=_run)
    commands = parser.add_subparsers(metavar="COMMAND")
    rehearse = commands.add_parser("rehearse", help="run in small against local servers")
    _add_steps(rehearse)
    rehearse.set_defaults(do=_rehearse, profile=None, region=None)
    clean = commands.add_parser("clean", help="delete what a killed run has left")
    _add_target(clean)
    clean.add_argument(
        "--yes", action="store_true", help="do not ask before deleting what no ledger here names"
    )
    clean.set_defaults(do=_clean)
    commands.add_parser("policy", help="print the IAM policy that a run needs").set_defaults(do=_policy)
    publish = commands.add_parser("publish", help="write the figures of a report into the repository")
    publish.add_argument("report", type=Path, help="report.json of a run against AWS")
    publish.set_defaults(do=_publish)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    _add_steps(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask; needs --budget")
    parser.add_argument("--account", metavar="ID", help="refuse to run in any other account")
    parser.add_argument(
        "--budget",
        type=float,
        metavar="USD",
        help=f"start no step that could exceed it; default: {BUDGET_USD}",
    )
    parser.add_argument(
        "--minutes", type=float, default=LONGEST_MINUTES, help=f"of all steps; default: {LONGEST_MINUTES:.0f}"
    )
    parser.add_argument(
        "--whole-suite", action="store_true", help="run all of tests/contract, for about $2 more"
    )
    parser.add_argument("--small", action="store_true", help="write less and measure each time once")


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", help="of the AWS configuration files; default: what botocore finds")
    parser.add_argument("--region", help="default: what botocore finds")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=argparse.SUPPRESS)
    for service in ("kinesis", "dynamodb", "sts"):
        parser.add_argument(f"--{service}-url", help=argparse.SUPPRESS)


def _add_steps(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--steps",
        nargs="+",
        default=[],
        metavar="STEP",
        help=f"play only these of {', '.join(step.name for step in STEPS)}",
    )
    if not any(action.dest == "folder" for action in parser._actions):
        parser.add_argument("--folder", type=Path, default=FOLDER, help=argparse.SUPPRESS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
