#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: manual.py VERSION TABLES DATAPLANE CONTROLPLANE FOLDER

Writes karmalb(8), karmalb.conf(5) and karmactl(1) into FOLDER.  What the programs know they are
asked for: TABLES prints settings and statements, DATAPLANE and CONTROLPLANE their --help.
"""

import pathlib
import subprocess
import sys

GROUPS = [
    ("file", "Top level", "config_version comes first; the others in any order."),
    ("dataplane", "dataplane",
     "Read when karmalb-dataplane starts; a change needs its restart."),
    ("port", "Each of dataplane.ports", ""),
    ("neighbour", "Each of dataplane.neighbours",
     "For ports without a kernel interface, where nobody answers ARP or ND."),
    ("controlplane", "controlplane", "Read when karmalb-controlplane starts; those marked 'live' "
     "also by RELOAD and SIGHUP."),
    ("service_only", "Each of services", "A service has all settings of defaults as well."),
    ("service", "defaults, and each of services",
     "What stands in defaults holds for every service that does not say otherwise. Those marked "
     "'live' can be changed while running: karmactl -e \"SET SERVICE service setting = 'value'\"."),
    ("mirror", "Each of a service's mirrors", ""),
]

EXAMPLE = """\
config_version = 1;
dataplane = {
  ports   = ( { name = "front"; device = "af_xdp:eth1"; } );
  sources = [ "10.0.0.240/28" ];
};
services = (
  { name    = "web";
    listen  = [ "192.0.2.11:80/tcp" ];
    ha_strategy = "nodeads";
    mirrors = ( { name = "w1"; address = "10.0.0.21"; },
                { name = "w2"; address = "10.0.0.22"; } ); }
);
"""

NOTATION = [
    "Durations (\"250ms\", \"2m\": us ms s m h d w), sizes (\"512M\": powers of 1024), CPU "
    "lists and addresses are texts in quotes. Booleans are true and false only.",
    "Groups of a list stand in ( ), texts of a list in [ ], parted by commas, without one behind "
    "the last. '#', '//' and '/* */' are comments.",
    "A file with an error is refused whole; each error names its line, what was found and what "
    "was expected.",
]

FILES = [
    ("/etc/karmalb/karmalb.conf", "the configuration, see karmalb.conf(5)"),
    ("/run/karmalb/control.sock", "where karmactl(1) asks; HTTP/1.1, POST /cli"),
    ("/run/karmalb/dataplane.sock", "between the two programs"),
    ("/run/karmalb-dataplane/arguments",
     "the data plane's arguments as its unit made them from the configuration"),
    ("/usr/share/doc/karmalb", "manuals in full: configuration, statements, metrics, operations"),
]

GROUPS_OF_PEOPLE = [
    ("karmalb", "may read with karmactl (controlplane.control_group)"),
    ("karmalb-admin", "may change as well; its members need the group karmalb too "
     "(controlplane.admin_group)"),
    ("karmalb-dataplane",
     "may open dataplane.sock; for the control plane alone, no person belongs here"),
]


def escape(text):
    """Text that troff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text.startswith((".", "'")) else text


class Page:
    def __init__(self, name, section, what, version):
        self.lines = [
            '.\\" Made by scripts/lib/manual.py; do not edit.',
            f'.TH {name.upper()} {section} "" "karmalb {version}" "karmalb"',
        ]
        self.section("NAME")
        self.lines.append(f"{escape(name)} \\- {escape(what)}")

    def section(self, title):
        self.lines.append(f".SH {title}")

    def subsection(self, title):
        self.lines.append(f".SS {escape(title)}")

    def text(self, *paragraphs):
        for paragraph in paragraphs:
            self.lines += [".PP", escape(paragraph)]

    def entry(self, title, *paragraphs):
        self.lines += [".TP", f".B {escape(title)}"]
        for i, paragraph in enumerate(paragraphs):
            self.lines += ([".br"] if i else []) + [escape(paragraph)]

    def example(self, text):
        self.lines += [".PP", ".nf", ".RS", *map(escape, text.splitlines()), ".RE", ".fi"]

    def write(self, folder, file):
        (folder / file).write_text("\n".join(self.lines) + "\n", encoding="utf-8")


def default_of(default, quoted):
    if default == "\\":
        return "Required."
    return f'Default: "{default}".' if quoted == "1" or default == "" else f"Default: {default}."


def configuration_page(settings, version):
    missing = {row[1] for row in settings} - {scope for scope, _, _ in GROUPS}
    if missing:
        sys.exit(f"manual.py: karmalb.conf(5) has no section for settings of {missing}")
    page = Page("karmalb.conf", 5, "configuration of the karmalb load balancer", version)
    page.section("DESCRIPTION")
    page.text("Both programs of karmalb take what they do from this file.", *NOTATION)
    page.text("karmalb-controlplane --check FILE says whether a file is good, and prints every "
              "setting with its value.")
    for scope, title, text in GROUPS:
        page.section(title.upper())
        if text:
            page.text(text)
        for _, where, name, quoted, default, expected, live, help_text in settings:
            if where != scope:
                continue
            words = [help_text + ".", f"Expected: {expected}."]
            if not expected.startswith(("a group", "a list of groups")):
                words.append(default_of(default, quoted) + (" Live." if live == "1" else ""))
            page.entry(name, *words)
    page.section("EXAMPLE")
    page.example(EXAMPLE)
    page.section("SEE ALSO")
    page.text("karmalb(8), karmactl(1)")
    return page


KARMACTL_OPTIONS = [
    ("-e, --execute STATEMENT", "run it; may be given more than once. One argument may hold several, parted by ;"),
    ("-s, --socket PATH", "of the control plane; else $KARMALB_CONTROL, else the first that answers of "
     "/run/karmalb/control.sock and /run/karmalb-demo/control.sock"),
    ("-j, --json", "all that the control plane says as JSON, on standard output"),
    ("-t, --tsv", "answers as tab-separated values, a row of names first; what is not known is \\N"),
    ("-n, --count COUNT", "tables that top shows before it ends"),
    ("-h, --help", "options, short forms and statements"),
    ("-V, --version", "the version"),
]

KARMACTL_SHORT = [
    ("top [SERVICE]", "SHOW MIRRORS again every second; q or Ctrl-C ends it"),
    ("why [MIRROR|SERVICE]", "why it has the share it has: WHY"),
    ("why CLIENT:PORT SERVICE", "where a client's connection went, and why: EXPLAIN"),
    ("events [SINCE]", "what happened of late: SHOW EVENTS"),
    ("check [SERVICE]", "do its mirrors, or those of all services, answer: CHECK SERVICE"),
]


def statements_page(statements, version):
    page = Page("karmactl", 1, "ask and steer the karmalb load balancer", version)
    page.section("SYNOPSIS")
    page.example("karmactl [OPTION...] STATEMENT\nkarmactl [OPTION...] -e STATEMENT...\n"
                 "karmactl [OPTION...] top|why|events|check [WORD]\nkarmactl [OPTION...]")
    page.section("DESCRIPTION")
    page.text("Sends statements to the control plane over its socket and shows the answers. Without "
              "a statement it shows a prompt on a terminal, with history and completion, and "
              "reads statements from a pipe.",
              "Words in small letters stand for values; [ ] is what may be left out, | parts "
              "alternatives. A statement of the second kind needs the right to change: root, or "
              "the group karmalb-admin (controlplane.admin_group). The fields of answers are explained in "
              "/usr/share/doc/karmalb/statements.md.")
    page.section("OPTIONS")
    for title, text in KARMACTL_OPTIONS:
        page.entry(title, text + ".")
    page.section("SHORT FORMS")
    for title, text in KARMACTL_SHORT:
        page.entry(title, text + ".")
    for kinds, title in ((("READ",), "STATEMENTS THAT READ"),
                         (("CHANGE", "EDIT"), "STATEMENTS THAT CHANGE")):
        page.section(title)
        for _, of, syntax, help_text, example in statements:
            if of in kinds:
                page.entry(syntax, help_text + ".", f"Example: {example}")
    page.section("EXIT STATUS")
    page.text("0 done; 1 refused or not understood, with a sentence on standard error, or with "
              "--json as {\"error\": ...} on standard output; 2 usage; 3 no control plane; 4 a change that is taken "
              "but not known to be in force yet. What stands behind a statement that did not end "
              "with 0 is not run.")
    page.section("FILES")
    page.entry("~/.karmactl_history", "what was typed at the prompt.")
    page.section("SEE ALSO")
    page.text("karmalb(8), karmalb.conf(5)")
    return page


def programs_page(dataplane_help, controlplane_help, version):
    page = Page("karmalb", 8, "load balancer for replicated data services", version)
    page.section("DESCRIPTION")
    page.text(
        "karmalb forwards packets past the kernel (DPDK, AF_XDP), measures each mirror's answer "
        "times and errors from these packets, and gives each mirror its share of new connections "
        "accordingly.",
        "karmalb-dataplane forwards. karmalb-controlplane decides, and may be gone for a while: "
        "what is in force stays in force. karmactl(1) asks and steers. karmalb-doctor INTERFACE "
        "says, before anything is started, whether an interface and this host are fit, and changes "
        "nothing.")
    page.section("STARTING")
    page.example("karmalb-doctor eth1\neditor /etc/karmalb/karmalb.conf\n"
                 "karmalb-controlplane --check\nsystemctl enable --now karmalb")
    page.text("karmalb.service starts both; karmalb-dataplane.service and "
              "karmalb-controlplane.service can be restarted alone. Logs: journalctl -u "
              "'karmalb-*'.")
    page.text("SIGUSR1 has either program log one level more, SIGUSR2 one level less: error, "
              "warning, info (as they start), debug.")
    page.section("KARMALB-DATAPLANE")
    page.example(dataplane_help)
    page.section("KARMALB-CONTROLPLANE")
    page.example(controlplane_help)
    for title, rows in (("FILES", FILES), ("GROUPS", GROUPS_OF_PEOPLE)):
        page.section(title)
        for name, text in rows:
            page.entry(name, text)
    page.section("SEE ALSO")
    page.text("karmactl(1), karmalb.conf(5)")
    return page


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(version, tables, dataplane, controlplane, folder):
    rows = [line.split("\t") for line in said(tables).splitlines()]
    folder = pathlib.Path(folder)
    configuration_page([r for r in rows if r[0] == "setting"], version).write(
        folder, "karmalb.conf.5")
    statements_page([r for r in rows if r[0] == "statement"], version).write(folder, "karmactl.1")
    programs_page(said(dataplane, "--help"), said(controlplane, "--help"), version).write(
        folder, "karmalb.8")


if __name__ == "__main__":
    main(*sys.argv[1:])
