#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: statements_test.py [--update] KARMACTL FAKE_CONTROLPLANE

What each statement shows, as text and as JSON, compared with the files in statements/.  --update
writes them anew; read the difference before committing it."""

import difflib
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import surface  # noqa: E402

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "statements")

# File, state of the fake control plane, arguments of karmactl.
CASES = [
    ("services", "connected", ["SHOW SERVICES"]),
    ("services_json", "connected", ["--json", "SHOW SERVICES"]),
    ("mirrors", "connected", ["SHOW MIRRORS"]),
    ("mirrors_of_one", "connected", ["SHOW MIRRORS FROM search"]),
    ("mirrors_json", "connected", ["--json", "SHOW MIRRORS"]),
    ("mirrors_alone", "alone", ["SHOW MIRRORS FROM web"]),
    ("agents", "connected", ["SHOW AGENT STATUS"]),
    ("agents_json", "connected", ["--json", "SHOW AGENT STATUS"]),
    ("agents_like", "connected", ["SHOW AGENT STATUS LIKE 'ag_1_1periods%'"]),
    ("agent_of_host", "connected", ["SHOW AGENT '10.99.1.14:80' STATUS"]),
    ("agent_of_service", "connected", ["SHOW AGENT web STATUS"]),
    ("agent_unknown", "connected", ["SHOW AGENT '10.99.1.15:80' STATUS"]),
    ("drops", "connected", ["SHOW DROPS"]),
    ("drops_json", "connected", ["--json", "SHOW DROPS"]),
    ("karma", "connected", ["SHOW KARMA"]),
    ("karma_json", "connected", ["--json", "SHOW KARMA FROM web"]),
    ("karma_unknown", "connected", ["SHOW KARMA FROM wbe"]),
    ("flows", "connected", ["SHOW FLOWS"]),
    ("flows_from", "connected", ["SHOW FLOWS FROM web; SHOW FLOWS FROM web.m1 LIMIT 5; "
                                 "SHOW FLOWS LIMIT 1; SHOW FLOWS FROM search"]),
    ("flows_json", "connected", ["--json", "SHOW FLOWS"]),
    ("flows_tsv", "connected", ["--tsv", "SHOW FLOWS"]),
    ("flows_no_limit", "connected", ["SHOW FLOWS LIMIT many"]),
    ("flows_unknown", "connected", ["SHOW FLOWS FROM web.m0"]),
    ("flows_alone", "alone", ["SHOW FLOWS"]),
    ("reset_flows", "connected", ["RESET FLOWS; RESET FLOWS FROM web; RESET FLOWS FROM web.m1"]),
    ("reset_flows_json", "connected", ["--json", "RESET FLOWS"]),
    ("reset_flows_unknown", "connected", ["RESET FLOWS FROM wbe"]),
    ("reset_flows_no_mirror", "connected", ["RESET FLOWS FROM web.m9"]),
    ("explain", "connected", ["EXPLAIN '192.0.2.77:40000' TO '10.99.0.10:80/tcp'"]),
    ("explain_old", "connected", ["EXPLAIN '192.0.2.78:40001' TO '10.99.0.10:80/tcp'"]),
    ("explain_none", "connected", ["EXPLAIN '192.0.2.1:5' TO '10.99.0.10:80/tcp'"]),
    ("explain_nobody", "connected", ["EXPLAIN '192.0.2.1:5' TO '10.99.0.10:81/tcp'"]),
    ("explain_json", "connected", ["--json", "EXPLAIN '192.0.2.77:40000' TO '10.99.0.10:80/tcp'"]),
    ("explain_service", "connected", ["EXPLAIN '192.0.2.79:40002' TO search; "
                                      "EXPLAIN '192.0.2.79:40003' TO search"]),
    ("explain_no_service", "connected", ["EXPLAIN '192.0.2.79:40002' TO wbe"]),
    ("explain_v6", "connected", ["EXPLAIN '[2001:db8::1]:5' TO '10.99.0.10:80/tcp'"]),
    ("explain_v6_service", "connected", ["EXPLAIN '[2001:db8::1]:5' TO web"]),
    ("explain_wrong", "connected", ["EXPLAIN '192.0.2.77' TO '10.99.0.10:80/tcp'"]),
    ("check", "connected", ["CHECK SERVICE web"]),
    ("check_listens", "connected", ["CHECK SERVICE search"]),
    ("check_json", "connected", ["--json", "CHECK SERVICE web"]),
    ("check_all", "connected", ["CHECK SERVICE"]),
    ("check_nobody", "dark", ["CHECK SERVICE search"]),
    ("check_nobody_json", "dark", ["--json", "CHECK SERVICE"]),
    ("check_nobody_tsv", "dark", ["--tsv", "CHECK SERVICE search"]),
    ("check_tsv", "connected", ["--tsv", "CHECK SERVICE web"]),
    ("check_unknown", "connected", ["CHECK SERVICE wbe"]),
    ("check_alone", "alone", ["CHECK SERVICE web"]),
    ("services_tsv", "connected", ["--tsv", "SHOW SERVICES"]),
    ("mirrors_tsv", "connected", ["--tsv", "SHOW MIRRORS"]),
    ("status_tsv", "connected", ["--tsv", "SHOW STATUS LIKE 'dataplane_c%'"]),
    ("drops_tsv", "connected", ["--tsv", "SHOW DROPS"]),
    ("help_tsv", "connected", ["--tsv", "HELP AGENT"]),
    ("set_tsv", "connected", ["--tsv", "SET SERVICE web ha_strategy = 'random'; SHOW SETTINGS LIKE 'web.dead_after'"]),
    ("wrong_tsv", "connected", ["--tsv", "SHOW"]),
    ("status", "connected", ["SHOW STATUS"]),
    ("status_json", "alone", ["--json", "SHOW STATUS LIKE 'dataplane%'"]),
    ("help", "connected", ["HELP"]),
    ("help_agent", "connected", ["HELP AGENT"]),
    ("help_json", "connected", ["--json", "HELP AGENT"]),
    ("help_unknown", "connected", ["HELP me"]),
    ("set", "connected", ["SET SERVICE web ha_strategy = 'random'; STRATEGY web random; "
                          "STRATEGY web nodeads"]),
    ("set_json", "connected", ["--json", "SET SERVICE web ha_period_karma = '2m'"]),
    ("set_unconfirmed", "connected", ["SET SERVICE web dead_after = 999"]),
    ("set_no_service", "connected", ["SET SERVICE wbe ha_strategy = 'random'"]),
    ("set_no_setting", "connected", ["SET SERVICE web ha_stratgey = 'random'"]),
    ("set_no_value", "connected", ["SET SERVICE web ha_strategy = 'fastest'"]),
    ("set_global", "connected", ["SET GLOBAL ha_strategy = 'nodeads'; SHOW DIFF"]),
    ("create", "connected", ["CREATE SERVICE new LISTEN '192.0.2.1:80/tcp', '192.0.2.1:81/tcp' "
                             "MIRRORS ('10.0.0.1', b '10.0.0.2:8080' WEIGHT 3) dead_after = 7; "
                             "SHOW DIFF; DROP SERVICE new; SHOW DIFF"]),
    ("create_no_mirrors", "connected", ["CREATE SERVICE new LISTEN '192.0.2.1:80/tcp'"]),
    ("create_no_listen", "connected", ["CREATE SERVICE new LISTEN '192.0.2.1' MIRRORS ('10.0.0.1')"]),
    ("create_twice", "connected", ["CREATE SERVICE web LISTEN '192.0.2.1:80/tcp' MIRRORS "
                                   "('10.0.0.1')"]),
    ("alter", "connected", ["ALTER SERVICE web ADD MIRROR m9 '10.0.0.9' WEIGHT 2; "
                            "ALTER SERVICE web DROP MIRROR m9; "
                            "ALTER SERVICE web LISTEN '192.0.2.1:80/tcp'; RESET SERVICE web"]),
    ("alter_same_address", "connected", ["ALTER SERVICE web ADD MIRROR m9 '10.99.1.14'"]),
    ("set_mirror", "connected", ["SET MIRROR web.m1 STATE = drain UNTIL '2999-01-01T00:00:00Z'; "
                                 "SET MIRROR web.m1 STATE = active; "
                                 "SET MIRROR web.m1 WEIGHT = 5"]),
    ("set_mirror_json", "connected", ["--json", "SET MIRROR web.m1 STATE = maintenance"]),
    ("set_mirror_tsv", "connected", ["--tsv", "SET MIRROR web.m1 STATE = maintenance; SHOW DIFF"]),
    ("changes_json", "connected", ["--json",
                                   "CREATE SERVICE new LISTEN '192.0.2.1:80/tcp' MIRRORS ('10.0.0.1'); "
                                   "ALTER SERVICE web ADD MIRROR m9 '10.0.0.9:81' WEIGHT 2; "
                                   "SET GLOBAL ping = 'http'; DROP SERVICE search; SHOW DIFF"]),
    ("set_same_json", "connected", ["--json", "SET SERVICE web ha_strategy = 'nodeads'"]),
    ("set_mirror_unknown", "connected", ["SET MIRROR web.m0 STATE = drain"]),
    ("set_mirror_no_state", "connected", ["SET MIRROR web.m1 STATE = gone"]),
    ("why", "connected", ["WHY web.m1"]),
    ("why_unknown", "connected", ["WHY web.m9"]),
    ("why_client", "connected", ["WHY 192.0.2.77:40000"]),
    ("why_client_there", "connected", ["why '192.0.2.77:40000' web"]),
    ("why_far", "connected", ["WHY web.backup"]),
    ("why_near", "connected", ["WHY wbe.m1"]),
    ("events_wrong", "connected", ["SHOW EVENTS SINCE 2026-02-31 09:00"]),
    ("save_short", "connected", ["SAVE"]),
    ("settings", "connected", ["SHOW SETTINGS LIKE 'defaults.ha_%'"]),
    ("settings_of_any", "connected", ["SHOW SETTINGS LIKE 'ha_%'"]),
    ("settings_of_dataplane", "connected", ["SHOW SETTINGS LIKE 'dataplane.%'"]),
    ("settings_of_service", "connected", ["SHOW SETTINGS LIKE 'search.%'"]),
    ("settings_origins", "connected", [
        "SET GLOBAL ping = 'http'; SET MIRROR web.m1 WEIGHT = 5; "
        "ALTER SERVICE search LISTEN '192.0.2.10:9312/tcp'; "
        "SHOW SETTINGS LIKE '%.ping'; SHOW SETTINGS LIKE '%weight'; SHOW SETTINGS LIKE 'listen'"]),
    ("settings_json", "connected", ["--json", "SHOW SETTINGS LIKE 'web.dead_after'"]),
    ("confirm_nothing", "connected", ["CONFIRM RELOAD"]),
    ("reload_no_file", "connected", ["RELOAD"]),
    ("save_nowhere", "connected", ["SAVE CONFIG"]),
    ("wrong", "connected", ["SHOW"]),
    ("wrong_json", "connected", ["--json", "SHOW MIRORS"]),
]


def check_json(text):
    """One value after the other."""
    while text.strip():
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
        text = text.lstrip()[end:]


def show(programs, mode, args):
    with programs.controlplane(mode) as controlplane:
        status, out, err = programs.run(*args, path=controlplane.path)
    if "--json" in args:
        check_json(out)
    # How long a real clock took.
    out = re.sub(r"after \d+ ms; new", "after N ms; new", out)
    if "RESET FLOWS" in args:
        out = re.sub(r'"took_ms": [\d.]+', '"took_ms": N', out)
    return (f"$ karmactl {' '.join(a if a.startswith('-') else repr(a) for a in args)}\n"
            f"{out}{err}exit status {status}\n")


def main():
    programs = surface.programs_of_arguments()
    is_update = sys.argv[1:] == ["--update"]
    n_wrong = 0
    for name, mode, args in CASES:
        path = os.path.join(KEPT, f"{name}.txt")
        got = show(programs, mode, args)
        if is_update:
            with open(path, "w", encoding="utf-8") as file:
                file.write(got)
            continue
        with open(path, encoding="utf-8") as file:
            want = file.read()
        if got != want:
            n_wrong += 1
            sys.stdout.writelines(difflib.unified_diff(
                want.splitlines(True), got.splitlines(True), f"{name} kept", f"{name} shown"))
    kept = {name.removesuffix(".txt") for name in os.listdir(KEPT)}
    for name in sorted(kept - {case[0] for case in CASES}):
        n_wrong += 1
        print(f"statements/{name}.txt belongs to no case")
    print(f"{len(CASES)} statements, {n_wrong} shown otherwise than kept")
    return 1 if n_wrong > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
