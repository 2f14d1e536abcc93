#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_run.py --world DIR --karmactl PROGRAM --period S MS...

Watches a running demo over two re-weightings and has check_arithmetic judge what it saw.  Exit
status: 0 passed, 1 failed, 3 failed while a mirror itself was late.
"""

import argparse
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import check_arithmetic as arithmetic  # noqa: E402

POLL_S = 0.2
STATEMENT_TIMEOUT_S = 5
AFTER_S = 1.0  # the slowest answer of the window has been logged by then


class CheckError(Exception):
    """What went wrong, as a sentence."""


def ask(options, statement):
    command = [options.karmactl, "--socket", f"{options.world}/control.sock", "--json",
               "-e", statement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True,
                              timeout=STATEMENT_TIMEOUT_S)
        return json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        raise CheckError(f"{statement}: {error.stderr.strip() or error.stdout.strip()}") from error
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise CheckError(f"{statement}: {error}") from error


def reweighted_at(options):
    return ask(options, "SHOW SERVICES")[0]["reweighted_at"] or 0.0


def await_reweighting(options, after, limit_s):
    """The first re-weighting later than 'after'."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        at = reweighted_at(options)
        if at > after:
            return at
        time.sleep(POLL_S)
    raise CheckError(f"no re-weighting within {limit_s:.0f} s")


def show_mirrors(options, at):
    """SHOW MIRRORS under the re-weighting of that time."""
    mirrors = ask(options, "SHOW MIRRORS")
    if reweighted_at(options) != at:
        raise CheckError("shares changed again while they were read")
    return mirrors


def client_counts(options, after):
    """(requests, failed) as the client wrote them later than 'after'."""
    path = f"{options.world}/load.json"
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if os.path.exists(path) and os.stat(path).st_mtime > after:
            with open(path, encoding="utf-8") as file:
                counts = json.load(file)
            return counts["requests"], counts["failed"]
        time.sleep(POLL_S)
    raise CheckError("the client tells nothing any more")


def read_mirror(options, shown, nominal_ms):
    name = shown["mirror"]
    with open(f"{options.world}/{name}/access", encoding="utf-8") as log:
        picks = arithmetic.parse_access_log(log)
    karma = shown["karma"] or {}
    return arithmetic.Mirror(
        name, nominal_ms, picks, shown["share"], karma.get("share_before") or 0.0,
        karma.get("answer_mean_ms") or 0.0, karma.get("queries") or 0)


def run(options):
    began_at = time.time() + 0.3  # traffic flows by then
    print(f"traffic flows; measuring from the re-weighting after one whole block of "
          f"{options.period} s under traffic to the next", flush=True)
    at = await_reweighting(options, began_at + options.period, 2 * options.period + 5)
    shown = show_mirrors(options, at)
    next_at = await_reweighting(options, at, options.period + 5)
    time.sleep(AFTER_S)
    n_requests, n_failed = client_counts(options, time.time())
    window = arithmetic.Window(at, next_at, options.period)
    mirrors = [read_mirror(options, s, ms) for s, ms in zip(shown, options.nominal_ms)]
    return arithmetic.judge(mirrors, window, n_requests, n_failed), n_requests, n_failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--world", required=True)
    parser.add_argument("--karmactl", required=True)
    parser.add_argument("--period", type=float, required=True)
    parser.add_argument("nominal_ms", type=float, nargs="+")
    options = parser.parse_args()
    try:
        verdict, n_requests, n_failed = run(options)
    except CheckError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    if verdict.rows:
        print(arithmetic.table(verdict))
    for problem in verdict.problems:
        print(problem)
    for name in verdict.late:
        print(f"{name} itself took more than {arithmetic.LATE_FACTOR} times its nominal time")
    print(arithmetic.closing_line(verdict, n_requests, n_failed), flush=True)
    if not verdict.problems:
        return 0
    return 3 if verdict.late and n_failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
