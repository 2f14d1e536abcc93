#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The demo's judge, on made-up logs: it must pass what is right and fail each thing that is not."""

import os
import random
import sys
import unittest
from dataclasses import replace

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../scripts/lib"))

import check_arithmetic as check  # noqa: E402

SEED = 20250101
NOMINAL_MS = {"m1": 100, "m2": 50, "m3": 300, "m4": 30}
WINDOW = check.Window(reweighted_at=1000.0, next_reweighted_at=1006.0, period_s=6.0)


def log_lines(rng, shares, rate=1000, begin=990.0, end=1010.0, late=None):
    """What four mirrors would have logged: equal shares until the re-weighting, 'shares' after."""
    lines = {name: [] for name in NOMINAL_MS}
    names = list(NOMINAL_MS)
    for i in range(int((end - begin) * rate)):
        arrived_at = begin + i / rate
        weights = shares if arrived_at >= WINDOW.reweighted_at else [1] * len(names)
        name = rng.choices(names, weights)[0]
        took_ms = NOMINAL_MS[name] * (late or {}).get(name, 1)
        ended_at = arrived_at + took_ms / 1000
        lines[name].append((ended_at, f"{ended_at:.3f} {took_ms / 1000:.3f} 200 10.0.0.1 5 /\n"))
    return {name: [line for _, line in sorted(rows)] for name, rows in lines.items()}


def world(shares=(0.15, 0.30, 0.05, 0.50), late=None, karma_above_ms=0.5, **options):
    """Mirrors whose every figure fits the others."""
    logs = log_lines(random.Random(SEED), list(shares), late=late, **options)
    means = [ms * (late or {}).get(name, 1) + karma_above_ms for name, ms in NOMINAL_MS.items()]
    announced = check.documented_shares([0.25] * 4, means)
    return [
        check.Mirror(name, ms, check.parse_access_log(logs[name]), announced[i], 0.25, means[i], 9)
        for i, (name, ms) in enumerate(NOMINAL_MS.items())
    ]


def changed(mirrors, index, **values):
    return [replace(m, **values) if i == index else m for i, m in enumerate(mirrors)]


class Rule(unittest.TestCase):
    def test_documented_vectors_come_out(self):
        first = check.documented_shares([0.25] * 4, [10, 5, 30, 3])
        second = check.documented_shares(first, [10, 5, 30, 3])
        for got, expected in ((first, (0.15, 0.30, 0.05, 0.50)),
                              (second, (0.061644, 0.246575, 0.006849, 0.684932))):
            for a, b in zip(got, expected):
                self.assertAlmostEqual(a, b, delta=1e-6)


class Log(unittest.TestCase):
    def test_arrival_is_end_minus_duration(self):
        (pick,) = check.parse_access_log(["1000.350 0.300 200 10.0.0.1 5 /\n"])
        self.assertAlmostEqual(pick.arrived_at, 1000.050, places=6)
        self.assertAlmostEqual(pick.answer_ms, 300)

    def test_a_line_still_being_written_is_left_out(self):
        self.assertEqual(len(check.parse_access_log(["1.0 0.1 200\n", "1.2 0."])), 1)

    def test_what_is_no_log_line_is_refused(self):
        for line in ("garbage\n", "x 0.1 200\n", "1.0 - 200\n"):
            with self.assertRaises(ValueError):
                check.parse_access_log([line])

    def test_only_arrivals_inside_the_cut_window_count(self):
        arrivals = (1000.0, 1000.199, 1000.201, 1003.0, 1005.799, 1005.801, 1006.1)
        picks = [check.Pick(at, at + 0.1, 100, 200) for at in arrivals]
        self.assertEqual(check.count_window(picks, WINDOW), 3)

    def test_own_mean_is_of_the_block_before(self):
        picks = [check.Pick(993.0, 993.9, 900, 200), check.Pick(995.0, 995.1, 100, 200),
                 check.Pick(999.5, 999.8, 300, 200), check.Pick(999.9, 1000.6, 700, 200)]
        self.assertAlmostEqual(check.own_mean_ms(picks, WINDOW), 200)
        self.assertIsNone(check.own_mean_ms([], WINDOW))


class Judge(unittest.TestCase):
    def assert_fails(self, verdict, mark):
        self.assertTrue(any(mark in p for p in verdict.problems), verdict.problems)

    def test_a_sound_run_passes(self):
        verdict = check.judge(world(), WINDOW, 20000, 0)
        self.assertEqual(verdict.problems, [])
        self.assertEqual(verdict.late, [])
        self.assertGreater(verdict.n_picks, 5000)
        line = check.closing_line(verdict, 20000, 0)
        self.assertRegex(line, r"^demo: shares (\d+\.\d ){4}%, 0 failed of 20000$")
        self.assertEqual(len(check.table(verdict).splitlines()), 5)

    def test_a_fails_when_traffic_does_not_follow_the_shares(self):
        verdict = check.judge(world(shares=(0.20, 0.30, 0.05, 0.45)), WINDOW, 20000, 0)
        self.assert_fails(verdict, "(a) m1")

    def test_a_and_d_fail_when_nothing_was_reweighted(self):
        verdict = check.judge(world(shares=(1, 1, 1, 1)), WINDOW, 20000, 0)
        self.assert_fails(verdict, "(a) m4")
        self.assert_fails(verdict, "(d) m4: counted")

    def test_b_fails_when_announced_shares_are_not_the_rules(self):
        mirrors = world()
        off = mirrors[3].announced_share - 0.003
        self.assert_fails(check.judge(changed(mirrors, 3, announced_share=off), WINDOW, 9, 0),
                          "(b) m4")

    def test_c_fails_on_either_side(self):
        for beyond_ms in (-0.3, 2.1):
            verdict = check.judge(world(karma_above_ms=beyond_ms), WINDOW, 20000, 0)
            self.assert_fails(verdict, "(c) m1")

    def test_d_fails_when_karma_and_shares_agree_on_something_else(self):
        late = {"m1": 1.0, "m2": 1.0, "m3": 1.0, "m4": 1.3}
        means = [100, 50, 300, 39]
        shares = check.documented_shares([0.25] * 4, means)
        verdict = check.judge(world(shares=shares, late=late), WINDOW, 20000, 0)
        self.assert_fails(verdict, "(d) m4: counted")
        self.assertEqual(verdict.late, ["m4"])

    def test_e_fails_on_one_failed_request_and_on_none_made(self):
        self.assert_fails(check.judge(world(), WINDOW, 20000, 1), "(e) 1 of 20000")
        self.assert_fails(check.judge(world(), WINDOW, 0, 0), "(e) the client made no request")

    def test_too_few_picks_fail(self):
        self.assert_fails(check.judge(world(rate=500), WINDOW, 20000, 0), "picks in the window")

    def test_an_unequal_start_fails(self):
        mirrors = changed(world(), 0, share_before=0.26)
        self.assert_fails(check.judge(mirrors, WINDOW, 20000, 0), "began with 26.0 %")

    def test_a_mirror_that_karma_did_not_see_fails(self):
        mirrors = changed(world(), 2, karma_queries=0, karma_mean_ms=0.0)
        self.assert_fails(check.judge(mirrors, WINDOW, 20000, 0), "karma has no answered query")

    def test_a_mirror_that_logged_nothing_fails(self):
        self.assert_fails(check.judge(changed(world(), 1, picks=[]), WINDOW, 20000, 0), "(c) m2")


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main(verbosity=1)
