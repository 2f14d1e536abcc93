#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: manual_test.py DOCS KARMACTL FAKE_CONTROLPLANE

docs/statements.md has every statement of the table, with its help and its example as they are, no other,
and names every field that a statement's answer has, as TSV or in JSON."""

import json
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import surface  # noqa: E402

# What is asked of each statement, by the beginning of its syntax.  What changes something comes
# first, so that there are events.
ASKED = {
    "SET SERVICE": ["SET SERVICE web ha_strategy = 'random'"],
    "STRATEGY": ["STRATEGY web nodeads"],
    "SET GLOBAL": ["SET GLOBAL ha_strategy = 'nodeads'"],
    "CREATE SERVICE": ["CREATE SERVICE new LISTEN '192.0.2.1:80/tcp' MIRRORS ('10.0.0.1')"],
    "ALTER SERVICE service ADD": ["ALTER SERVICE web ADD MIRROR m9 '10.0.0.9'"],
    "ALTER SERVICE service DROP": ["ALTER SERVICE web DROP MIRROR m9"],
    "ALTER SERVICE service LISTEN": ["ALTER SERVICE new LISTEN '192.0.2.1:81/tcp'"],
    "ALTER SERVICE service DEFAULT": ["ALTER SERVICE web DEFAULT ha_strategy"],
    "DROP SERVICE": ["DROP SERVICE new"],
    "SET MIRROR mirror STATE": ["SET MIRROR web.m1 STATE = drain"],
    "SET MIRROR mirror WEIGHT": ["SET MIRROR web.m1 WEIGHT = 5"],
    "RESET SERVICE": ["RESET SERVICE web"],
    "RESET FLOWS": ["RESET FLOWS"],
    "SHOW SERVICES": ["SHOW SERVICES"],
    "SHOW MIRRORS": ["SHOW MIRRORS"],
    "SHOW AGENT STATUS": ["SHOW AGENT STATUS"],
    "SHOW AGENT 'host:port'": ["SHOW AGENT '10.99.1.14:80' STATUS", "SHOW AGENT web STATUS"],
    "SHOW KARMA": ["SHOW KARMA"],
    "SHOW FLOWS": ["SHOW FLOWS"],
    "EXPLAIN": ["EXPLAIN '192.0.2.77:40000' TO '10.99.0.10:80/tcp'",
                "EXPLAIN '192.0.2.1:5' TO '10.99.0.10:80/tcp'"],
    "CHECK SERVICE": ["CHECK SERVICE web"],
    "SHOW DROPS": ["SHOW DROPS"],
    "SHOW STATUS": ["SHOW STATUS"],
    "SHOW DIFF": ["SHOW DIFF"],
    "SHOW EVENTS": ["SHOW EVENTS"],
    "SHOW SETTINGS": ["SHOW SETTINGS LIKE 'web.%'"],
    "WHY": ["WHY"],
    "HELP": ["HELP"],
}
NOT_ASKED = {"RELOAD [CONFIRM WITHIN duration]", "CONFIRM RELOAD", "SAVE [CONFIG]"}  # there is no file

# Sections whose words count elsewhere, too.
LIKE_SET_GLOBAL = {"CREATE SERVICE", "ALTER SERVICE", "DROP SERVICE", "SET MIRROR", "RESET"}

# What stands for numbers and names in the manual: worker_N_flows, ag_SERVICE_1_N_warnings.
STANDS_FOR = {"N": r"\d+", "SERVICE": r"[\w.-]+", "MIRROR": r"[\w.-]+"}


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


def words_of(syntax, sections):
    """The `words` that the manual explains for a statement."""
    text = sections[syntax]
    if any(syntax.startswith(beginning) for beginning in LIKE_SET_GLOBAL):
        text += sections["SET GLOBAL setting = 'value'"]
    if syntax.startswith("STRATEGY"):
        text += sections["SET SERVICE service setting = 'value'"]
    words = set(re.findall(r"`([^`\n]+)`", text))
    if syntax.startswith("SHOW AGENT 'host:port'"):
        words |= {word.replace("ag_N_", "agent_")
                  for word in words_of("SHOW AGENT STATUS [LIKE 'pattern']", sections)}
    return words


def is_explained(field, words):
    if field in words:
        return True
    for word in words:
        pattern = "".join(STANDS_FOR.get(part, re.escape(part))
                          for part in re.split(r"(?<![A-Za-z])(N|SERVICE|MIRROR)(?![A-Z])", word))
        if pattern != re.escape(word) and re.fullmatch(pattern, field):
            return True
    return False


def fields_of(value, prefix=""):
    """The names in an answer: of objects in objects with a point between, of those in lists alone."""
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, dict):
            continue
        for name, inner in item.items():
            yield prefix + name
            # HELP's arguments are named after what statements have.
            if isinstance(inner, list) and name != "arguments":
                yield from fields_of(inner)
            elif isinstance(inner, dict) and name != "arguments":
                yield from fields_of(inner, f"{prefix}{name}.")


def ask(programs, path, form, statement):
    """The fields of its answer; or a sentence."""
    status, out, err = programs.run(form, "-e", statement, path=path)
    if status != 0:
        return set(), f"{statement}: {err}{out}"
    if form == "--json":
        return set(fields_of(json.loads(out))), None
    return set(out.split("\n", 1)[0].split("\t")), None


def check_fields(programs, sections):
    for form in ("--tsv", "--json"):
        with programs.controlplane() as controlplane:
            for beginning, statements in ASKED.items():
                syntax = next(s for s in sections if s.startswith(beginning))
                words = words_of(syntax, sections)
                for statement in statements:
                    fields, wrong = ask(programs, controlplane.path, form, statement)
                    if wrong:
                        yield wrong
                    for field in sorted(fields):
                        if not is_explained(field, words):
                            yield f"{syntax}: field `{field}` ({form}) is not explained"
    for syntax in sections:
        if syntax not in NOT_ASKED and not any(syntax.startswith(b) for b in ASKED):
            yield f"{syntax}: nobody asks"


def main():
    programs = surface.programs_of_arguments()
    page = (pathlib.Path(sys.argv[1]) / "statements.md").read_text(encoding="utf-8")
    sections = sections_of(page)
    with programs.controlplane() as controlplane:
        _, out, _ = programs.run("--tsv", "-e", "HELP", path=controlplane.path)
        rows = [line.split("\t") for line in out.splitlines()[1:]]
        assert len(rows) > 20, "the table is not what it was"
        wrong = list(check_table(rows, sections))
    wrong += check_fields(programs, sections)
    for sentence in wrong:
        print(f"docs/statements.md: {sentence}")
    return 1 if wrong else 0


sys.exit(main())
