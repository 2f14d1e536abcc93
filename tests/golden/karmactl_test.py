#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: karmactl_test.py KARMACTL FAKE_CONTROLPLANE

karmactl's forms, exit statuses and what it says when things go wrong."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import surface  # noqa: E402

DONE, REFUSED, USAGE, NO_ANSWER, UNCONFIRMED = 0, 1, 2, 3, 4
PROGRAMS = None


def run(*args, **options):
    return PROGRAMS.run(*args, **options)


def columns_of(table):
    return [line.split()[0] for line in table.splitlines() if line]


class Forms(unittest.TestCase):
    def setUp(self):
        self.controlplane = PROGRAMS.controlplane()
        self.path = self.controlplane.__enter__().path
        self.addCleanup(self.controlplane.__exit__, None, None, None)

    def same(self, *args, stdin=""):
        want = run("-e", "SHOW MIRRORS FROM web", path=self.path)
        self.assertEqual(want[0], DONE)
        self.assertEqual(run(*args, path=self.path, stdin=stdin), want)

    def test_a_statement_may_come_in_many_ways(self):
        self.same("show", "mirrors", "from", "web")
        self.same("show mirrors from web")
        self.same("-e", "show mirrors from 'web';")
        self.same("--execute=show mirrors of web")
        self.same(stdin="show mirrors from web\n")
        self.same(stdin="\n ; show mirrors from web")

    def test_several_statements_are_answered_in_order(self):
        both = "".join(run("-e", s, path=self.path)[1] for s in ("SHOW SERVICES", "SHOW DROPS"))
        for args, stdin in ((["-e", "SHOW SERVICES", "-e", "SHOW DROPS"], ""),
                            (["SHOW SERVICES;SHOW DROPS"], ""),
                            ([], "SHOW SERVICES\nSHOW DROPS\n")):
            self.assertEqual(run(*args, path=self.path, stdin=stdin), (DONE, both, ""))

    def test_the_first_statement_that_fails_ends_it(self):
        status, out, err = run("-e", "SHOW SERVICES", "-e", "SHWO", "-e", "SHOW DROPS",
                               path=self.path)
        self.assertEqual(status, REFUSED)
        self.assertIn("did you mean SHOW?", err)
        self.assertNotIn("drop_", out)

    def test_a_change_that_is_not_confirmed_has_a_status_of_its_own_and_is_told_whole(self):
        for form, was, now in (((), "dead_after 4 -> 999, taken, but not confirmed", ""),
                               (("--json",), '"old": "4"', '"new": "999"'),
                               (("--tsv",), "dead_after\t4\t999", "")):
            with PROGRAMS.controlplane() as controlplane:
                status, out, err = run(*form, "-e", "SET SERVICE web dead_after = 999",
                                       "-e", "SHOW DROPS", path=controlplane.path)
            self.assertEqual((status, err), (UNCONFIRMED, ""))
            self.assertIn(was, out)
            self.assertIn(now, out)
            self.assertNotIn("drop_", out)

    def test_a_value_that_the_shell_took_the_quotes_from_is_understood(self):
        for args in (["set", "service", "web", "ha_strategy", "=", "random"],
                     ["set", "service", "web", "ha_strategy=nodeads"],
                     ["set", "service", "web", "ha_strategy='random'"],
                     ["strategy", "web", "nodeads"],
                     ["SET", "SERVICE", "web", "ha_period_karma", "=", "2m"]):
            status, out, err = run(*args, path=self.path)
            self.assertEqual((status, err), (DONE, ""), args)
            self.assertIn("in force after 4 ms", out)
        status, _, err = run("show", "mirrors", "from", "it's; a test", path=self.path)
        self.assertEqual(status, REFUSED)
        self.assertIn("no service \"it's; a test\"", err)

    def test_json_also_says_what_is_wrong(self):
        status, out, err = run("--json", "show", "mirors", path=self.path)
        self.assertEqual((status, err), (REFUSED, ""))
        self.assertIn("MIRRORS", json.loads(out)["error"])
        status, out, _ = run("show", "mirrors", "-j", path=self.path)
        self.assertEqual(len(json.loads(out)), 6)

    def test_odd_bytes_and_long_statements_get_a_sentence(self):
        for statement, sentence in ((b"SHOW \x1b[31m", "0x1b"), (b"SHOW \xff", "0xff"),
                                    (b"SHOW 'x", "not closed"), (b"x" * 4097, "4097 bytes"),
                                    (b"x" * 100000, "100000 bytes"), ("SHOW ü".encode(), "SHOW")):
            done = subprocess.run([PROGRAMS.karmactl, "--socket", self.path, "-e", statement],
                                  capture_output=True, check=False, timeout=surface.WAIT_S)
            self.assertEqual(done.returncode, REFUSED)
            self.assertIn(sentence.encode(), done.stderr)
            self.assertTrue(done.stderr.replace(b"\n", b"").decode().isprintable())
        done = subprocess.run([PROGRAMS.karmactl, "--socket", self.path], input=b"SHOW \0 MIRRORS\n",
                              capture_output=True, check=False, timeout=surface.WAIT_S)
        self.assertEqual(done.returncode, REFUSED)

    def test_no_line_ends_in_a_blank(self):
        for statement in ("SHOW SERVICES", "SHOW MIRRORS", "SHOW AGENT STATUS", "SHOW DROPS", "HELP",
                          "SHOW STATUS", "SHOW AGENT web STATUS"):
            _, out, _ = run(statement, path=self.path)
            self.assertIsNone(re.search(r"[ \t]+$", out, re.MULTILINE), statement)

    def test_text_and_json_show_the_same_pairs(self):
        for statement in ("SHOW AGENT STATUS", "SHOW STATUS", "SHOW AGENT search STATUS"):
            _, text, _ = run(statement, path=self.path)
            _, values, _ = run("-j", statement, path=self.path)
            self.assertEqual(columns_of(text)[1:], list(json.loads(values)))

    def test_help_lists_what_may_be_set_and_to_what(self):
        _, text, _ = run("help", "set", path=self.path)
        words = json.loads(run("-j", "help", path=self.path)[1])["arguments"]
        self.assertEqual(words["service"], ["web", "search"])
        for name in ("ha_strategy", "karma_gain", "dead_after"):
            self.assertIn(name, words["setting"])
            self.assertRegex(text, rf"(?m)^    {name} +[A-Z]")
        self.assertEqual(words["ha_strategy"], words["strategy"])
        self.assertIn("nodeads", words["strategy"])

    def test_events_are_asked_for_by_the_times_that_they_are_shown_with(self):
        run("set", "service", "web", "dead_after", "=", "7", path=self.path)
        shown = run("events", path=self.path, env={"TZ": "UTC0"})[1].splitlines()[-1].split()[:2]
        for since, is_in in ((shown, True), (["2999-01-01"], False), (["2023-11-14", "22:00"], True),
                             (["2999-01-01T00:00:00Z"], False), (["2001-01-01T00:00:00Z"], True),
                             (["since", "2999-01-01", "00:00:00.250"], False),
                             (["2023-11-14", "00"], True), (["2999-01-01", "00"], False)):
            status, out, err = run("events", *since, path=self.path)
            self.assertEqual((status, err), (DONE, ""), since)
            self.assertEqual("dead_after" in out, is_in, since)

    def test_events_are_asked_for_by_fractions_of_any_length(self):
        for _ in range(100):
            run("set", "service", "web", "dead_after", "=", "7", path=self.path)
            day, time_of_day = run("events", path=self.path)[1].splitlines()[-1].split()[:2]
            second, ms = time_of_day.split(".")
            if 100 <= int(ms) < 900:
                break
        for fraction, is_in in ((".1", True), (".10", True), (".99", False), (".9", False),
                                (".900001", False)):
            status, out, err = run("events", day, second + fraction, path=self.path)
            self.assertEqual((status, err), (DONE, ""), fraction)
            self.assertEqual(time_of_day in out, is_in, (time_of_day, fraction))
        for wrong in (".", ".x", ".1x", ".1234567"):
            self.assertEqual(run("events", day, second + wrong, path=self.path)[0], REFUSED, wrong)

    def test_the_environment_names_a_socket_and_the_option_wins(self):
        env = {"KARMALB_CONTROL": self.path}
        self.assertEqual(run("HELP", env=env)[0], DONE)
        status, _, err = run("-s", "/nowhere/control.sock", "SHOW SERVICES", env=env)
        self.assertEqual(status, NO_ANSWER)
        self.assertIn("/nowhere/control.sock", err)
        env = {"KARMALB_CONTROL": "/nowhere/control.sock"}
        self.assertEqual(run("SHOW SERVICES", path=self.path, env=env)[0], DONE)

    def test_a_proxy_in_the_environment_does_not_matter(self):
        env = {"http_proxy": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"}
        self.assertEqual(run("SHOW SERVICES", path=self.path, env=env)[0], DONE)


class Shell(unittest.TestCase):
    """What bash's completion offers."""

    COMPLETION = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                              "../../scripts/install/karmactl.bash")

    def complete(self, *words, path="/nonexistent"):
        """As bash does after Tab at the end of these words."""
        script = """source "$0"; socket=$1; shift
            COMP_WORDS=("$KARMACTL" -s "$socket" "$@"); COMP_CWORD=$(($# + 2)); COMPREPLY=()
            _karmactl; printf '%s\\n' "${COMPREPLY[@]}"; """
        done = subprocess.run(["bash", "-c", script, self.COMPLETION, path, *words], check=True,
                              capture_output=True, text=True, timeout=surface.WAIT_S,
                              env={**surface.environment(), "KARMACTL": PROGRAMS.karmactl})
        return done.stdout.split()

    def test_statements_are_known_without_a_control_plane(self):
        self.assertEqual(self.complete("show", "flo"), ["flows"])
        self.assertEqual(self.complete("che"), ["check"])
        self.assertIn("explain", self.complete("e"))

    def test_options_are_offered_and_not_taken_for_words(self):
        self.assertEqual(self.complete("--ts"), ["--tsv"])
        self.assertEqual(self.complete("--json", "show", "kar"), ["karma"])

    def test_names_are_those_of_a_running_control_plane(self):
        with PROGRAMS.controlplane() as controlplane:
            self.assertEqual(self.complete("check", "", path=controlplane.path),
                             ["web", "search"])
            self.assertEqual(self.complete("top", "w", path=controlplane.path), ["web"])
            self.assertEqual(self.complete("set", "service", "we", path=controlplane.path), ["web"])
            self.assertEqual(self.complete("set", "mirror", "web.m", path=controlplane.path),
                             ["web.m1", "web.m2", "web.m3", "web.m4"])
            self.assertEqual(self.complete("reset", "flows", "from", "s", path=controlplane.path),
                             ["search.shared", "search.idle", "search"])
            self.assertEqual(self.complete("alter", "service", "search", "drop", "mirror", "",
                                           path=controlplane.path), ["shared", "idle"])
            self.assertIn("10.99.1.14:80", self.complete("show", "agent", "", path=controlplane.path))
            self.assertEqual(self.complete("set", "service", "web", "roundrobin_skip_dead", "=", "",
                                           path=controlplane.path), ["true", "false"])
            self.assertIn("mirrors", self.complete("help", "show", "m", path=controlplane.path))

    def test_words_with_colons_are_whole_though_bash_parts_them(self):
        with PROGRAMS.controlplane() as controlplane:
            self.assertEqual(self.complete("show", "agent", "10.99.1.14", ":", "8",
                                           path=controlplane.path), ["80"])
            self.assertEqual(self.complete("show", "agent", "10.99.1.14", ":",
                                           path=controlplane.path), ["80"])
            self.assertEqual(self.complete("explain", "192.0.2.1", ":", "5", "to", "10.99.0.10",
                                           ":", "80/t", path=controlplane.path), ["80/tcp"])


class Usage(unittest.TestCase):
    def test_usage_is_answered_with_status_2_and_a_sentence(self):
        for args in (["--nonsense"], ["-x"], ["-e"], ["-n", "0", "top"], ["-n", "x", "top"],
                     ["-n", "3", "show", "mirrors"], ["top", "a", "b"], ["-e", "HELP", "HELP"],
                     ["-n", "-1", "top"]):
            status, out, err = run(*args)
            self.assertEqual((status, out), (USAGE, ""), args)
            self.assertRegex(err, r"^karmactl: .*; karmactl --help says more\n$")

    def test_help_and_version_need_no_control_plane(self):
        status, out, err = run("--help", "-s", "/nowhere")
        self.assertEqual((status, err), (DONE, ""))
        for wanted in ("usage:", "--socket", "Exit status", "SHOW MIRRORS [FROM|OF service]",
                       "SET SERVICE service setting = 'value'", "top"):
            self.assertIn(wanted, out)
        self.assertEqual(run("help", path="/nowhere"), (DONE, out, ""))
        self.assertRegex(run("--version")[1], r"^karmactl \d+\.\d+\.\d+\n$")


class NoAnswer(unittest.TestCase):
    def no_answer(self, path, pattern):
        began = time.monotonic()
        status, out, err = run("SHOW SERVICES", path=path)
        self.assertEqual((status, out), (NO_ANSWER, ""))
        self.assertRegex(err, pattern)
        self.assertEqual(err.count("\n"), 1)
        return time.monotonic() - began

    def test_no_socket(self):
        self.no_answer("/nowhere/control.sock", "no control plane at /nowhere.*start karmalb-cont")
        self.no_answer("/" + "x" * 200, "too long")

    def test_a_control_plane_that_was_killed(self):
        with surface.run_directory() as directory:
            with PROGRAMS.controlplane(run_dir=directory) as controlplane:
                controlplane.process.kill()
                controlplane.process.wait()
                self.no_answer(controlplane.path, "nobody answers at .*killed")

    def test_a_control_plane_that_hangs_is_given_up_after_five_seconds(self):
        with surface.listener(lambda connection: None) as path:
            took_s = self.no_answer(path, f"no answer from {path} within 5 s")
        self.assertGreater(took_s, 4.5)
        self.assertLess(took_s, 15)

    def test_a_control_plane_that_ends_before_it_answers(self):
        with surface.listener(lambda connection: connection.close()) as path:
            self.no_answer(path, "broke before the answer")

    def test_something_that_is_no_control_plane(self):
        def talk_nonsense(connection):
            connection.sendall(b"\0\1\2 nonsense\r\n\r\n")
            connection.close()
        with surface.listener(talk_nonsense) as path:
            self.no_answer(path, re.escape(path))

    def test_an_answer_that_breaks_off(self):
        def break_off(connection):
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            connection.close()
        with surface.listener(break_off) as path:
            self.no_answer(path, "broke before the answer")


class OnTerminal:
    """karmactl on a terminal of its own."""

    def __init__(self, path, *args, env=None):
        self.shown = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(PROGRAMS.karmactl, ["karmactl", "--socket", path, *args],
                      {**surface.environment(), "TERM": "xterm", **(env or {})})
        os.set_blocking(self.fd, False)

    def read(self):
        try:
            self.shown += os.read(self.fd, 65536).decode(errors="replace")
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    def wait_for(self, text):
        """The terminal's text up to and with 'text', which is taken off."""
        end = time.monotonic() + surface.WAIT_S
        while text not in self.shown:
            if not self.read() or time.monotonic() > end:
                raise AssertionError(f"{text!r} is not in {self.shown!r}")
            time.sleep(0.02)
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """The exit status."""
        end = time.monotonic() + surface.WAIT_S
        while time.monotonic() < end:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"does not end, shows {self.shown!r}")


class Top(unittest.TestCase):
    def test_elsewhere_than_on_a_terminal_tables_follow_each_other(self):
        with PROGRAMS.controlplane() as controlplane:
            _, table, _ = run("SHOW MIRRORS FROM web", path=controlplane.path)
            began = time.monotonic()
            self.assertEqual(run("top", "web", "-n", "2", path=controlplane.path),
                             (DONE, table + "\n" + table, ""))
            self.assertGreater(time.monotonic() - began, 0.9)
            self.assertEqual(run("top", "nosuch", path=controlplane.path)[0], REFUSED)
        self.assertEqual(run("top", path="/nowhere")[0], NO_ANSWER)

    def test_q_ends_it_and_gives_the_terminal_back(self):
        with PROGRAMS.controlplane() as controlplane:
            terminal = OnTerminal(controlplane.path, "top")
            self.assertIn("\033[?1049h", terminal.wait_for("MIRROR"))
            terminal.wait_for("m4")
            terminal.type("q")
            terminal.wait_for("\033[?1049l")
            self.assertEqual(terminal.end(), DONE)

    def test_control_c_and_a_signal_end_it_alike(self):
        with PROGRAMS.controlplane() as controlplane:
            for end in (lambda t: t.type("\3"), lambda t: os.kill(t.pid, signal.SIGTERM)):
                terminal = OnTerminal(controlplane.path, "top")
                terminal.wait_for("m4")
                end(terminal)
                terminal.wait_for("\033[?1049l")
                self.assertEqual(terminal.end(), DONE)

    def test_it_waits_for_a_control_plane_that_restarts(self):
        with surface.run_directory() as directory:
            with PROGRAMS.controlplane(run_dir=directory) as controlplane:
                terminal = OnTerminal(controlplane.path, "top")
                terminal.wait_for("m4")
            terminal.wait_for("NOT UP TO DATE")
            with PROGRAMS.controlplane(run_dir=directory):
                terminal.wait_for("q ends\033[K")
                terminal.type("q")
                self.assertEqual(terminal.end(), DONE)


class Prompt(unittest.TestCase):
    def test_statements_history_and_completion(self):
        with surface.run_directory() as home, PROGRAMS.controlplane() as controlplane:
            # libedit never frees the names of functions added to it.
            env = {"HOME": home, "ASAN_OPTIONS": "detect_leaks=0"}
            terminal = OnTerminal(controlplane.path, env=env)
            terminal.wait_for("karmalb> ")
            terminal.type("show mir\tfrom w\t\n")
            terminal.wait_for("m4")
            terminal.wait_for("karmalb> ")
            terminal.type("SHOW \t")
            terminal.wait_for("SERVICES  MIRRORS  AGENT  KARMA  FLOWS  DROPS  STATUS")
            terminal.wait_for("karmalb> SHOW ")
            terminal.type("\3")
            terminal.wait_for("karmalb> ")
            terminal.type("set service web ha_st\t= nod\t;\n")
            terminal.wait_for("ha_strategy was nodeads already")
            terminal.type("nonsense\n")
            terminal.wait_for('found "nonsense"')
            terminal.type("quit\n")
            self.assertEqual(terminal.end(), DONE)
            with open(f"{home}/.karmactl_history", encoding="utf-8") as file:
                self.assertIn("mirrors", file.read())
            self.assertEqual(os.stat(f"{home}/.karmactl_history").st_mode & 0o777, 0o600)

            terminal = OnTerminal(controlplane.path, env=env)
            terminal.wait_for("karmalb> ")
            terminal.type("\033[A\033[A\n")
            terminal.wait_for("ha_strategy was nodeads already")
            terminal.type("\4")
            self.assertEqual(terminal.end(), DONE)

    def test_it_takes_the_words_of_the_command_line(self):
        with surface.run_directory() as home, PROGRAMS.controlplane() as controlplane:
            terminal = OnTerminal(controlplane.path, env={"HOME": home,
                                                          "ASAN_OPTIONS": "detect_leaks=0"})
            terminal.wait_for("karmalb> ")
            for _ in range(2):  # a Ctrl-C that ended it before does not end it again
                terminal.type("top w\t\n")
                terminal.wait_for("every second")
                terminal.wait_for("m4")
                terminal.type("\3")
                terminal.wait_for("karmalb> ")
            terminal.type("events; check w\t\n")
            terminal.wait_for("4 checked")
            terminal.type("\4")
            self.assertEqual(terminal.end(), DONE)


if __name__ == "__main__":
    PROGRAMS = surface.programs_of_arguments()
    unittest.main(verbosity=2)
