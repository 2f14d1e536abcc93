#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: operations_test.py MANUAL_TABLES DOCS

docs/operations.md has a row for every counter, outcome, kind of event and alert, and every alert has a
test of when it fires.
"""

import pathlib
import re
import subprocess
import sys


def main(tables, docs):
    docs = pathlib.Path(docs)
    page = (docs / "operations.md").read_text(encoding="utf-8")
    first_cells = "\n".join(line.split("|")[1] for line in page.splitlines()
                            if line.startswith("|"))
    said = subprocess.run([tables], check=True, capture_output=True, text=True).stdout
    names = [row.split("\t")[1] for row in said.splitlines()
             if row.startswith(("counter\t", "outcome\t", "event\t"))]
    assert len(names) > 20, "the tables are not what they were"
    lacking = [name for name in names if f"`{name}`" not in first_cells]
    rules = (docs / "prometheus/karmalb.rules.yml").read_text(encoding="utf-8")
    alerts = re.findall(r"alert: (\w+)", rules)
    lacking += [alert for alert in alerts if alert not in first_cells]
    for name in lacking:
        print(f"docs/operations.md: no row says what to do about {name}")
    tests = (docs / "prometheus/karmalb_test.yml").read_text(encoding="utf-8")
    untested = [alert for alert in alerts
                if not re.search(rf"alertname: {alert}\n\s+exp_alerts:", tests)]
    for name in untested:
        print(f"docs/prometheus/karmalb_test.yml: no test has {name} fire")
    return 1 if lacking or untested else 0


sys.exit(main(*sys.argv[1:]))
