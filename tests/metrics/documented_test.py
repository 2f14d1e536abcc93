#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: documented_test.py SAMPLE DOCS

docs/metrics.md has a row for every metric and for nothing else, with its type and the words of its
HELP line; dashboard and alert rules use metrics and labels that exist.
"""

import json
import pathlib
import re
import subprocess
import sys

SUFFIXES = ("_bucket", "_sum", "_count")
problems = []


def complain(text):
    problems.append(text)


def metrics_of(text):
    """{name: (type, help)} and {name: set of labels}."""
    heads, labels = {}, {}
    for line in text.splitlines():
        if m := re.fullmatch(r"# HELP (\S+) (.*)", line):
            heads[m[1]] = [None, m[2]]
            labels[m[1]] = set()
        elif m := re.fullmatch(r"# TYPE (\S+) (\S+)", line):
            heads[m[1]][0] = m[2]
        elif m := re.match(r"([a-z_]+)(?:{(.*)})? ", line):
            labels[base_of(m[1], heads)] |= set(re.findall(r'(\w+)="', m[2] or ""))
    return heads, labels


def base_of(name, heads):
    for suffix in SUFFIXES:
        if name not in heads and name.removesuffix(suffix) in heads:
            return name.removesuffix(suffix)
    return name


def check_page(page, heads, labels):
    rows = {}
    for line in page.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 4 and (m := re.fullmatch(r"`(karmalb_\w+)`", cells[0])):
            rows[m[1]] = cells[1:]
    for name, (kind, text) in heads.items():
        shown = ", ".join(sorted(labels[name] - {"le"}))
        if name not in rows:
            complain(f"docs/metrics.md lacks: | `{name}` | {kind} | {shown} | {text} |")
            continue
        got_labels = ", ".join(sorted(filter(None, re.split(r"[,\s]+", rows[name][1]))))
        if (rows[name][0], got_labels, rows[name][2]) != (kind, shown, text):
            complain(f"docs/metrics.md: expected: | `{name}` | {kind} | {shown} | {text} |")
    for name in rows.keys() - heads.keys():
        complain(f"docs/metrics.md: there is no {name}")


def check_query(where, query, heads, labels):
    for m in re.finditer(r"(karmalb_\w+)(?:{([^}]*)})?", query):
        name = base_of(m[1], heads)
        if name not in heads:
            complain(f"{where}: there is no {m[1]}")
            continue
        for label in re.findall(r"(\w+)\s*[=!]~?", m[2] or ""):
            if label not in labels[name] | {"instance", "job"}:
                complain(f"{where}: {m[1]} has no label {label}")


def queries_of(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]


def main(sample, docs):
    docs = pathlib.Path(docs)
    text = subprocess.run([sample], check=True, capture_output=True, text=True).stdout
    heads, labels = metrics_of(text)
    assert len(heads) > 30, "the sample is not what it was"
    for name in heads:
        if not any(line.startswith((name + "{", name + " ", name + "_bucket"))
                   for line in text.splitlines()):
            complain(f"{name} has no sample")
    check_page((docs / "metrics.md").read_text(), heads, labels)
    dashboard = json.loads((docs / "grafana/karmalb.json").read_text())
    n_queries = 0
    for title, query in queries_of(dashboard):
        check_query(f"docs/grafana/karmalb.json: {title}", query, heads, labels)
        n_queries += 1
    assert n_queries > 10, "the dashboard is not what it was"
    rules = (docs / "prometheus/karmalb.rules.yml").read_text()
    expressions = re.findall(r"^\s*expr: (.*)$", rules, re.MULTILINE)
    assert expressions, "there is no rule"
    for expression in expressions:
        check_query("docs/prometheus/karmalb.rules.yml", expression, heads, labels)


main(*sys.argv[1:])
print("\n".join(problems) if problems else "all names are right")
sys.exit(1 if problems else 0)
