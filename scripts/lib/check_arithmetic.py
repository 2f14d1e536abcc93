# SPDX-License-Identifier: BSD-3-Clause
"""
The judgement of `demo --check`: what mirrors, karma and client counted, held against the documented
rule.  Pure arithmetic on values, so that tests can feed it made-up logs.

Times are seconds of the wall clock, latencies ms, shares 0..1, differences of shares in points
(hundredths of the whole).
"""

from dataclasses import dataclass

CUT_S = 0.2  # left out at both ends of the window: new shares need a moment to reach everyone
PICKS_MIN = 3000
COUNTED_POINTS_MAX = 2.0  # (a) counted against announced
RULE_POINTS_MAX = 0.2  # (b) announced against the rule on karma's own means
KARMA_BELOW_MS, KARMA_ABOVE_MS = 0.2, 2.0  # (c) karma's mean against the mirror's own
NOMINAL_POINTS_MAX = 3.0  # (d) against what the nominal times give
LATE_FACTOR = 1.03  # own mean above this times nominal: the mirror itself was late
START_POINTS_MAX = 0.1  # every mirror must have begun with the same share


@dataclass(frozen=True)
class Pick:
    """One line of a mirror's access log."""

    arrived_at: float
    ended_at: float
    answer_ms: float
    status: int


@dataclass(frozen=True)
class Mirror:
    """What is known of one mirror; 'karma' as SHOW MIRRORS tells it after the re-weighting."""

    name: str
    nominal_ms: float
    picks: list
    announced_share: float
    share_before: float
    karma_mean_ms: float
    karma_queries: int


@dataclass(frozen=True)
class Window:
    """From one re-weighting to the next; the block that fed the first one lies before it."""

    reweighted_at: float
    next_reweighted_at: float
    period_s: float


@dataclass(frozen=True)
class Row:
    """One mirror's line of the result."""

    name: str
    nominal_ms: float
    own_mean_ms: float
    karma_mean_ms: float
    nominal_share: float
    rule_share: float
    announced_share: float
    counted_share: float
    n_picks: int


@dataclass(frozen=True)
class Verdict:
    rows: list
    problems: list  # sentences; empty: passed
    late: list  # names of mirrors that were themselves late
    n_picks: int


def parse_access_log(lines):
    """Picks from lines '$msec $request_time $status ...'.  A line cut off at the end is left out,
    anything else that does not fit raises ValueError."""
    picks = []
    for line in lines:
        if not line.endswith("\n"):
            break
        words = line.split()
        if len(words) < 3:
            raise ValueError(f"not a line of the access log: {line!r}")
        ended_at, took_s = float(words[0]), float(words[1])
        picks.append(Pick(ended_at - took_s, ended_at, took_s * 1000, int(words[2])))
    return picks


def documented_shares(shares, means_ms):
    """The rule: new share = old share / latency, renormalised."""
    parts = [share / mean for share, mean in zip(shares, means_ms)]
    return [part / sum(parts) for part in parts]


def count_window(picks, window):
    """How many requests arrived between the two re-weightings, ends cut."""
    begin, end = window.reweighted_at + CUT_S, window.next_reweighted_at - CUT_S
    return sum(begin <= pick.arrived_at < end for pick in picks)


def own_mean_ms(picks, window):
    """The mirror's own mean over what it answered in the block that fed the re-weighting; None
    without answers."""
    begin, end = window.reweighted_at - window.period_s, window.reweighted_at
    answers = [p.answer_ms for p in picks if begin <= p.ended_at < end]
    return sum(answers) / len(answers) if answers else None


def points(share, other):
    return 100 * abs(share - other)


def judge(mirrors, window, n_requests, n_failed):
    """Everything that the check promises, in one go."""
    problems = _problems_of_input(mirrors)
    if problems:
        return Verdict([], problems, [], 0)
    rows = _rows(mirrors, window)
    n_picks = sum(row.n_picks for row in rows)
    if n_picks < PICKS_MIN:
        problems.append(f"only {n_picks} picks in the window, {PICKS_MIN} needed")
    for row in rows:
        problems += _problems_of_row(row)
    if n_requests == 0:
        problems.append("(e) the client made no request")
    if n_failed > 0:
        problems.append(f"(e) {n_failed} of {n_requests} requests failed")
    late = [row.name for row in rows if row.own_mean_ms > LATE_FACTOR * row.nominal_ms]
    return Verdict(rows, problems, late, n_picks)


def _problems_of_input(mirrors):
    problems = []
    for m in mirrors:
        if points(m.share_before, 1 / len(mirrors)) > START_POINTS_MAX:
            problems.append(f"{m.name} began with {100 * m.share_before:.1f} %, not equal shares")
        if m.karma_queries == 0 or m.karma_mean_ms <= 0:
            problems.append(f"karma has no answered query of {m.name}")
    return problems


def _rows(mirrors, window):
    before = [m.share_before for m in mirrors]
    nominal = documented_shares([1 / len(mirrors)] * len(mirrors), [m.nominal_ms for m in mirrors])
    rule = documented_shares(before, [m.karma_mean_ms for m in mirrors])
    counts = [count_window(m.picks, window) for m in mirrors]
    total = max(sum(counts), 1)
    return [
        Row(m.name, m.nominal_ms, own_mean_ms(m.picks, window) or 0.0, m.karma_mean_ms,
            nominal[i], rule[i], m.announced_share, counts[i] / total, counts[i])
        for i, m in enumerate(mirrors)
    ]


def _problems_of_row(row):
    problems = []

    def expect(holds, sentence):
        if not holds:
            problems.append(sentence)

    expect(points(row.counted_share, row.announced_share) <= COUNTED_POINTS_MAX,
           f"(a) {row.name}: counted {100 * row.counted_share:.2f} %,"
           f" announced {100 * row.announced_share:.2f} %")
    expect(points(row.announced_share, row.rule_share) <= RULE_POINTS_MAX,
           f"(b) {row.name}: announced {100 * row.announced_share:.2f} %,"
           f" by the rule {100 * row.rule_share:.2f} %")
    beyond_ms = row.karma_mean_ms - row.own_mean_ms
    expect(-KARMA_BELOW_MS <= beyond_ms <= KARMA_ABOVE_MS,
           f"(c) {row.name}: karma's mean {row.karma_mean_ms:.2f} ms,"
           f" the mirror's own {row.own_mean_ms:.2f} ms")
    for what, share in (("counted", row.counted_share), ("announced", row.announced_share)):
        expect(points(share, row.nominal_share) <= NOMINAL_POINTS_MAX,
               f"(d) {row.name}: {what} {100 * share:.2f} %,"
               f" expected {100 * row.nominal_share:.0f} %")
    return problems


def table(verdict):
    """The rows as aligned text, for a person."""
    lines = ["MIRROR  WORK ms  ITS OWN MEAN  KARMA'S MEAN    RULE  ANNOUNCED  COUNTED   PICKS"]
    for r in verdict.rows:
        lines.append(
            f"{r.name:<6}  {r.nominal_ms:7.0f}  {r.own_mean_ms:12.2f}  {r.karma_mean_ms:12.2f}"
            f"  {100 * r.rule_share:5.2f} %    {100 * r.announced_share:5.2f} %"
            f"  {100 * r.counted_share:5.2f} %  {r.n_picks:6d}")
    return "\n".join(lines)


def closing_line(verdict, n_requests, n_failed):
    """The last line of the check."""
    shares = " ".join(f"{100 * row.counted_share:.1f}" for row in verdict.rows) or "none"
    return f"demo: shares {shares} %, {n_failed} failed of {n_requests}"
