#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: endtoend.py RESULTS JSON

Medians of the lines that endtoend_rounds() wrote, as a table and as JSON, and how karmalb compares
with the goal: above HAProxy in every row, above nftables in new connections/s and p99.
"""

import json
import os
import statistics
import sys

SETUPS = ("direct", "nftables", "haproxy", "karmalb")
# measure: (of the line: 0 rate, 1 p99), divided by, unit, better, title
ROWS = {
    "requests_1": ("requests_1", 0, 1, "1/s", "higher", "requests, 1 kept connection"),
    "requests_1_p99": ("requests_1", 1, 1, "us", "lower", "  p99"),
    "requests_32": ("requests_32", 0, 1, "1/s", "higher", "requests, 32 kept connections"),
    "requests_32_p99": ("requests_32", 1, 1, "us", "lower", "  p99"),
    "connections": ("connections_32", 0, 1, "1/s", "higher", "new connections, 32 at a time"),
    "connections_p99": ("connections_32", 1, 1, "us", "lower", "  p99"),
    "download": ("download", 0, 1e6, "MB/s", "higher", "download"),
    "download_mtu": ("download_mtu", 0, 1e6, "MB/s", "higher", "  frames of the MTU's size"),
    "udp_1": ("udp_1", 0, 1, "1/s", "higher", "UDP requests, 1 at a time"),
    "udp_1_p99": ("udp_1", 1, 1, "us", "lower", "  p99"),
    "udp_32": ("udp_32", 0, 1, "1/s", "higher", "UDP requests, 32 at a time"),
    "udp_32_p99": ("udp_32", 1, 1, "us", "lower", "  p99"),
}


def read(path):
    values, failed = {}, {}
    with open(path, encoding="ascii") as f:
        for line in f:
            measure, setup, *numbers = line.split()
            values.setdefault((measure, setup), []).append([float(n) for n in numbers[:2]])
            failed[setup] = failed.get(setup, 0) + int(numbers[2])
    return values, failed


def rows_of(values):
    for name, (measure, which, divisor, unit, better, title) in ROWS.items():
        for setup in SETUPS:
            runs = [v[which] / divisor for v in values.get((measure, setup), [])]
            if runs:
                yield {"measure": name, "setup": setup, "value": round(statistics.median(runs), 1),
                       "better": better, "unit": unit, "runs": len(runs),
                       "lowest": round(min(runs), 1), "highest": round(max(runs), 1)}


def is_above(mine, other, better):
    return mine > other if better == "higher" else mine < other


def missed(table):
    for name, (_, _, _, unit, better, title) in ROWS.items():
        for rival in ("haproxy", "nftables"):
            if rival == "nftables" and not (name == "connections" or name.endswith("_p99")):
                continue
            mine, other = table.get((name, "karmalb")), table.get((name, rival))
            if mine is not None and other is not None and not is_above(mine, other, better):
                yield f"{name}: {mine:,.0f} {unit}, {rival} {other:,.0f} {unit}"


def print_table(table):
    print(f"{'':32}" + "".join(f"{s:>12}" for s in SETUPS))
    for name, (_, _, _, unit, _, title) in ROWS.items():
        cells = "".join(f"{table[name, s]:12,.0f}" if (name, s) in table else f"{'-':>12}"
                        for s in SETUPS)
        print(f"{title:32}{cells} {unit}")
    print("HAProxy forwards no UDP.  Medians; p99 from a request's begin (of a new connection: its "
          "SYN) to its whole answer.")


def main():
    values, failed = read(sys.argv[1])
    rows = list(rows_of(values))
    table = {(r["measure"], r["setup"]): r["value"] for r in rows}
    with open(sys.argv[2], "w", encoding="ascii") as f:
        f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
    print_table(table)
    load = ", ".join(f"{n:.1f}" for n in os.getloadavg())
    print(f"{os.cpu_count()} CPUs, all programs share them; load average now {load}")
    for setup, n in failed.items():
        if n:
            print(f"{setup}: {n} requests failed")
    below = list(missed(table))
    print("the goal (above HAProxy everywhere, above nftables in new connections and p99) is "
          + ("met" if not below else "missed in:"))
    for sentence in below:
        print(f"  {sentence}")
    return 1 if failed.get("karmalb") else 0


if __name__ == "__main__":
    sys.exit(main())
