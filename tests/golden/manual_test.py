#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: manual_test.py DOCS KARMACTL FAKE_CONTROLPLANE

docs/statements.md has every statement of the table, with its help and its example as they are, no other,
and names every field that a statement's answer has."""

import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import surface  # noqa: E402

# Statements to be asked, by the beginning of the syntax.  Others answer pairs or sentences.
ASKED = {
    "SHOW SERVICES": "SHOW SERVICES",
    "SHOW MIRRORS": "SHOW MIRRORS",
    "SHOW KARMA": "SHOW KARMA",
    "SHOW FLOWS": "SHOW FLOWS",
    "EXPLAIN": "EXPLAIN '192.0.2.77:40000' TO '10.99.0.10:80/tcp'",
    "CHECK SERVICE": "CHECK SERVICE web",
    "SHOW DROPS": "SHOW DROPS",
    "SHOW STATUS": "SHOW STATUS",
    "SHOW AGENT STATUS": "SHOW AGENT STATUS",
    "SHOW EVENTS": "SHOW EVENTS",
    "SHOW SETTINGS": "SHOW SETTINGS",
    "WHY": "WHY",
    "HELP": "HELP",
    "SET SERVICE": "SET SERVICE web ha_strategy = 'random'",
    "SET GLOBAL": "SET GLOBAL ha_strategy = 'nodeads'",
}


def sections_of(page):
    """What stands below each heading that is a statement."""
    parts = re.split(r"^### `(.*)`$", page, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def check_table(rows, sections):
    for syntax, help_text, example in rows:
        if syntax not in sections:
            yield f"there is no heading for {syntax}"
            continue
        if f"\n{help_text}.\n" not in sections[syntax]:
            yield f"{syntax}: its help is not \"{help_text}.\""
        if f"\n    {example}\n" not in sections[syntax]:
            yield f"{syntax}: its example is not \"{example}\""
    for syntax in sections:
        if syntax not in [row[0] for row in rows]:
            yield f"there is no statement {syntax}"


def check_fields(programs, path, sections):
    for beginning, statement in ASKED.items():
        syntax = next(s for s in sections if s.startswith(beginning))
        status, out, err = programs.run("--tsv", "-e", statement, path=path)
        if status != 0:
            yield f"{statement}: {err}"
            continue
        for field in out.split("\n", 1)[0].split("\t"):
            if f"`{field}`" not in sections[syntax]:
                yield f"{syntax}: field `{field}` is not explained"


def main():
    programs = surface.programs_of_arguments()
    page = (pathlib.Path(sys.argv[1]) / "statements.md").read_text(encoding="utf-8")
    sections = sections_of(page)
    with programs.controlplane() as controlplane:
        _, out, _ = programs.run("--tsv", "-e", "HELP", path=controlplane.path)
        rows = [line.split("\t") for line in out.splitlines()[1:]]
        assert len(rows) > 20, "the table is not what it was"
        wrong = list(check_table(rows, sections))
        wrong += check_fields(programs, controlplane.path, sections)
    for sentence in wrong:
        print(f"docs/statements.md: {sentence}")
    return 1 if wrong else 0


sys.exit(main())
