#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: configuration_test.py [--update] MANUAL_TABLES CONTROLPLANE DOCS

docs/configuration.md has a row for every setting and for nothing else, in the section of its group,
with its range, default and the words of the programs' own table; and its example is a good one.
--update writes the rows anew, in the order of that table.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SECTIONS = {
    "file": "Top level",
    "dataplane": "dataplane",
    "port": "Each of dataplane.ports",
    "neighbour": "Each of dataplane.neighbours",
    "controlplane": "controlplane",
    "service_only": "Each of services",
    "service": "defaults, and each of services",
    "mirror": "Each of a service's mirrors",
}


def default_of(default, quoted, expected):
    if default == "\\":
        return "required"
    if default == "" and expected.startswith(("a group", "a list of groups")):
        return "none"
    return f'`"{default}"`' if quoted == "1" or default == "" else f"`{default}`"


def expected_rows(tables):
    said = subprocess.run([tables], check=True, capture_output=True, text=True).stdout
    rows = {}
    for line in said.splitlines():
        if line.startswith("setting\t"):
            _, scope, name, quoted, default, expected, _, text = line.split("\t")
            default = default_of(default, quoted, expected)
            rows.setdefault(scope, []).append(f"| `{name}` | {expected} | {default} | {text} |")
    return rows


def sections_of(page):
    parts = re.split(r"^##+ (.*)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def update(page, rows_of):
    parts = re.split(r"(^##+ .*\n)", page, flags=re.MULTILINE)
    titles = {title: scope for scope, title in SECTIONS.items()}
    for i in range(1, len(parts), 2):
        scope = titles.get(parts[i].lstrip("#").strip())
        if scope is not None:
            rows = "".join(row + "\n" for row in rows_of[scope])
            parts[i + 1] = re.sub(r"(?:^\| `.*\n)+", lambda _: rows, parts[i + 1], count=1,
                                  flags=re.MULTILINE)
    return "".join(parts)


def main(tables, controlplane, docs):
    page = (pathlib.Path(docs) / "configuration.md").read_text(encoding="utf-8")
    sections, problems, n_rows = sections_of(page), [], 0
    for scope, rows in expected_rows(tables).items():
        section = sections.get(SECTIONS.get(scope), "")
        found = [line for line in section.splitlines() if line.startswith("| `")]
        problems += [f"{SECTIONS.get(scope, scope)}: lacks: {row}" for row in rows if row not in found]
        problems += [f"{SECTIONS.get(scope, scope)}: too much: {row}" for row in found if row not in rows]
        n_rows += len(rows)
    assert n_rows > 40, "the tables are not what they were"
    example = re.search(r"^```\n(config_version.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(example[1])
        file.flush()
        check = subprocess.run([controlplane, "--check", file.name], capture_output=True, text=True)
    if check.returncode != 0:
        problems.append(f"its example: {check.stderr}{check.stdout}")
    for problem in problems:
        print(f"docs/configuration.md: {problem}")
    return 1 if problems else 0


words = sys.argv[1:]
if words and words[0] == "--update":
    words.pop(0)
    file = pathlib.Path(words[2]) / "configuration.md"
    file.write_text(update(file.read_text(encoding="utf-8"), expected_rows(words[0])),
                    encoding="utf-8")
sys.exit(main(*words))
