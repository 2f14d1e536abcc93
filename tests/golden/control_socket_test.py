#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: control_socket_test.py KARMACTL FAKE_CONTROLPLANE

control.sock against everybody who may come: programs that speak HTTP, junk, slow ones, many at a
time, those who may look but not change; and who finds what at its path."""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import surface  # noqa: E402

NOBODY = 65534
CLIENTS_MAX = 64
PROGRAMS = None


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(surface.WAIT_S)
    client.connect(path)
    return client


def post(statement, headers="", path="/cli"):
    body = statement.encode()
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
            .encode() + body)


def read_answer(client, got=b""):
    """(status, headers, body, what came after it); None: the connection was closed without one."""
    while b"\r\n\r\n" not in got:
        try:
            part = client.recv(65536)
        except ConnectionResetError:
            part = b""
        if not part:
            return None
        got += part
    head, _, body = got.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
    size = int(headers.get("content-length", 0))
    while len(body) < size:
        body += client.recv(65536)
    return int(lines[0].split()[1]), headers, body[:size].decode(), body[size:]


def ask(path, payload):
    with connect(path) as client:
        try:
            client.sendall(payload)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return read_answer(client)


class Controlplane(unittest.TestCase):
    def start(self, **options):
        context = PROGRAMS.controlplane(**options)
        controlplane = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return controlplane


class Http(Controlplane):
    def setUp(self):
        self.path = self.start().path

    def test_a_statement_is_answered_in_the_form_that_was_asked_for(self):
        status, headers, body, _ = ask(self.path, post("SHOW SERVICES"))
        self.assertEqual((status, headers["content-type"]), (200, "text/plain; charset=utf-8"))
        self.assertTrue(body.startswith("SERVICE"))
        status, headers, body, _ = ask(
            self.path, post("SHOW SERVICES", "Accept: text/html, application/json;q=0.9\r\n"))
        self.assertEqual((status, headers["content-type"]), (200, "application/json"))
        self.assertEqual(json.loads(body)[0]["service"], "web")

    def test_what_is_wrong_has_a_status_and_a_sentence(self):
        for payload, want in ((post("SHOW"), 400), (post(""), 400), (post("x" * 5000), 400),
                              (post("HELP", path="/"), 404), (post("HELP", path="/cli/x"), 404),
                              (b"GET /cli HTTP/1.1\r\n\r\n", 405),
                              (b"DELETE /cli HTTP/1.1\r\n\r\n", 405)):
            status, _, body, _ = ask(self.path, payload)
            self.assertEqual(status, want, payload)
            self.assertRegex(body, r"^[^<]+\n$")
        status, _, body, _ = ask(self.path, post("SHOW", "Accept: application/json\r\n"))
        self.assertEqual((status, list(json.loads(body))), (400, ["error"]))

    def test_junk_is_answered_or_dropped_and_harms_nobody(self):
        for payload in (b"", b"\0" * 100, b"\r\n" * 1000, b"\xff" * 70000 + b"\r\n", b"A" * 200000,
                        b"POST /cli HTTP/1.1\r\nContent-Length: 4000000000\r\n\r\nx",
                        b"POST /cli HTTP/1.1\r\nContent-Length: -1\r\n\r\nHELP",
                        b"POST /cli HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
                        b"POST /cli HTTP/1.1\r\nContent-Length: 100\r\n\r\nHELP",
                        b"POST /cli HTTP/9.9\r\nContent-Length: 4\r\n\r\nHELP",
                        b"POST \0 HTTP/1.1\r\nContent-Length: 4\r\n\r\nHELP",
                        post("x" * 100000), post("SHOW \x1b[2J"), os.urandom(10000) + b"\r\n\r\n"):
            answer = ask(self.path, payload)
            if answer is not None and answer[0] != 200:
                self.assertIn(answer[0], (400, 404, 405, 413, 501), payload[:40])
            self.assertEqual(ask(self.path, post("SHOW SERVICES"))[0], 200)

    def test_a_statement_may_come_in_pieces_and_more_than_one_on_a_connection(self):
        with connect(self.path) as client:
            for statement in ("SHOW SERVICES", "STRATEGY web random", "HELP"):
                for byte in post(statement):
                    client.sendall(bytes([byte]))
                self.assertEqual(read_answer(client)[0], 200)
            client.sendall(post("SHOW DROPS") + post("SHOW"))
            first = read_answer(client)
            self.assertEqual(first[0], 200)
            self.assertEqual(read_answer(client, first[3])[0], 400)

    def test_a_client_that_dawdles_stalls_nobody(self):
        with connect(self.path) as slow, connect(self.path) as deaf:
            slow.sendall(post("SHOW SERVICES")[:-3])
            deaf.sendall(post("SHOW AGENT STATUS") * 200)
            began = time.monotonic()
            for _ in range(20):
                self.assertEqual(ask(self.path, post("SHOW MIRRORS"))[0], 200)
            self.assertLess(time.monotonic() - began, 5)
            slow.sendall(post("SHOW SERVICES")[-3:])
            self.assertEqual(read_answer(slow)[0], 200)


class Crowd(Controlplane):
    def n_descriptors(self, controlplane):
        return len(os.listdir(f"/proc/{controlplane.process.pid}/fd"))

    def test_connections_are_bounded_and_those_who_wait_come_in_later(self):
        controlplane = self.start()
        before = self.n_descriptors(controlplane)
        # More than there are seats; the others wait in the socket's queue.
        crowd = [connect(controlplane.path) for _ in range(CLIENTS_MAX + 32)]
        for client in crowd:
            self.addCleanup(client.close)
        late = connect(controlplane.path)
        late.sendall(post("SHOW SERVICES"))
        time.sleep(0.5)
        self.assertEqual(self.n_descriptors(controlplane), before + CLIENTS_MAX)
        for client in crowd:
            client.close()
        self.assertEqual(read_answer(late)[0], 200)
        late.close()
        end = time.monotonic() + surface.WAIT_S
        while self.n_descriptors(controlplane) > before and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.n_descriptors(controlplane), before)
        for _ in range(3 * CLIENTS_MAX):
            self.assertEqual(ask(controlplane.path, post("SHOW DROPS"))[0], 200)

    def test_a_client_that_leaves_before_its_answer_costs_nothing(self):
        controlplane = self.start()
        for i in range(50):
            with connect(controlplane.path) as client:
                client.sendall(post(f"STRATEGY web {('random', 'nodeads')[i % 2]}"))
        self.assertEqual(ask(controlplane.path, post("STRATEGY web random"))[0], 200)
        log = controlplane.stop()
        self.assertEqual(log.count("audit: user id 0: service web: ha_strategy"), 51)

    def test_what_is_accepted_is_audited_even_if_it_changes_nothing(self):
        controlplane = self.start()
        for _ in range(2):
            self.assertEqual(
                ask(controlplane.path, post("SET MIRROR web.m1 WEIGHT = 7"))[0], 200)
        self.assertEqual(ask(controlplane.path, post("RESET FLOWS FROM web"))[0], 200)
        log = controlplane.stop()
        said = "audit: user id 0: SET MIRROR web.m1 WEIGHT = 7: "
        self.assertEqual(log.count(said), 2, log)
        self.assertEqual(log.count(said + "nothing to change"), 1, log)
        self.assertEqual(log.count("audit: user id 0: RESET FLOWS of web"), 1, log)


class Rights(Controlplane):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to be somebody else")
        directory = self.enterContext(surface.run_directory())
        os.chmod(directory, 0o755)
        self.directory = directory
        # The clients are others, who may not reach the build.
        self.karmactl = shutil.copy(PROGRAMS.karmactl, f"{directory}/karmactl")
        os.chmod(self.karmactl, 0o755)
        self.groups = f"{directory}/group"
        self.write_groups("karmalb:x:7001:", "karmalb-admin:x:7002:")

    def write_groups(self, *lines):
        """The same file ever anew, for it is mounted."""
        with open(self.groups, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in ("root:x:0:", *lines)))

    def start_with_groups(self):
        """A control plane for which /etc/group is ours."""
        script = 'mount --bind "$0" /etc/group && exec "$@"'
        return self.start(run_dir=self.directory, group="karmalb",
                          prefix=["unshare", "--mount", "sh", "-c", script, self.groups])

    def run_as(self, groups, *args, path):
        done = subprocess.run([self.karmactl, "--socket", path, *args], capture_output=True,
                              text=True, check=False, timeout=surface.WAIT_S, user=NOBODY,
                              group=NOBODY, extra_groups=groups, cwd="/")
        return done.returncode, done.stdout + done.stderr

    def test_the_control_group_looks_and_the_admin_group_changes(self):
        path = self.start_with_groups().path
        status = os.stat(path)
        self.assertEqual((stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid),
                         (0o660, 0, 7001))
        code, said = self.run_as([], "SHOW SERVICES", path=path)
        self.assertEqual(code, 3)
        self.assertIn("use sudo, or join the group", said)
        code, said = self.run_as([7001], "SHOW SERVICES", path=path)
        self.assertEqual((code, said[:7]), (0, "SERVICE"))
        code, said = self.run_as([7001], "strategy", "web", "random", path=path)
        self.assertEqual(code, 1)
        self.assertIn("user id 65534 may look but not change anything", said)
        code, said = self.run_as([7001, 7002], "strategy", "web", "random", path=path)
        self.assertEqual(code, 0, said)
        self.assertEqual(PROGRAMS.run("strategy", "web", "nodeads", path=path)[0], 0)

    def test_groups_made_later_and_members_who_join_later_count(self):
        self.write_groups()
        controlplane = self.start_with_groups()
        path = controlplane.path
        change = ["strategy", "web", "random"]
        for _ in range(2):
            self.assertEqual(self.run_as([7001], "SHOW SERVICES", path=path)[0], 3)
            self.assertEqual(PROGRAMS.run("strategy", "web", "nodeads", path=path)[0], 0)
        self.write_groups("karmalb:x:7001:")
        end = time.monotonic() + surface.WAIT_S
        while self.run_as([7001], "SHOW SERVICES", path=path)[0] == 3:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        for _ in range(2):
            self.assertEqual(self.run_as([7001], *change, path=path)[0], 1)
        self.write_groups("karmalb:x:7001:", "karmalb-admin:x:7002:")
        self.assertEqual(self.run_as([7001], *change, path=path)[0], 1)
        self.write_groups("karmalb:x:7001:", "karmalb-admin:x:7002:somebody,nobody")
        self.assertEqual(self.run_as([7001], *change, path=path)[0], 0)
        self.write_groups("karmalb:x:7001:", "karmalb-admin:x:7002:somebody")
        self.assertEqual(self.run_as([7001], *change, path=path)[0], 1)
        # One whose number changes, and one that goes again.
        self.write_groups("karmalb:x:7003:")
        PROGRAMS.run("SHOW SERVICES", path=path)
        self.assertEqual(os.stat(path).st_gid, 7003)
        self.write_groups()
        PROGRAMS.run("SHOW SERVICES", path=path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        log = controlplane.stop()
        self.assertEqual(log.count("there is no group karmalb, so only its owner"), 2, log)
        self.assertEqual(log.count("group karmalb: there is one now"), 1, log)
        self.assertEqual(log.count("there is no group karmalb-admin, so changes are for"), 1, log)
        self.assertEqual(log.count("group karmalb-admin: there is one now"), 1, log)

    def test_without_the_group_only_the_owner_gets_in(self):
        controlplane = self.start(run_dir=self.directory, group="karmalb-no-such-group")
        self.assertEqual(stat.S_IMODE(os.stat(controlplane.path).st_mode), 0o600)
        self.assertEqual(self.run_as([7001], "SHOW SERVICES", path=controlplane.path)[0], 3)
        self.assertIn("there is no group karmalb-no-such-group", controlplane.stop())


class Path(Controlplane):
    def setUp(self):
        self.directory = self.enterContext(surface.run_directory())
        self.path = f"{self.directory}/control.sock"

    def refused(self, directory, pattern):
        done = subprocess.run([PROGRAMS.fake, directory], capture_output=True, text=True,
                              check=False, timeout=surface.WAIT_S)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, pattern)

    def test_a_stop_removes_the_socket(self):
        self.start(run_dir=self.directory).stop()
        self.assertFalse(os.path.exists(self.path))

    def test_the_socket_of_one_that_was_killed_is_replaced(self):
        killed = self.start(run_dir=self.directory)
        killed.process.kill()
        killed.process.wait()
        self.assertTrue(os.path.exists(self.path))
        self.start(run_dir=self.directory)
        self.assertEqual(ask(self.path, post("SHOW SERVICES"))[0], 200)

    def test_a_living_one_is_left_alone(self):
        self.start(run_dir=self.directory)
        self.refused(self.directory, "another control plane answers at .*control.sock")
        self.assertEqual(ask(self.path, post("SHOW SERVICES"))[0], 200)

    def test_what_is_no_socket_is_left_alone(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("precious")
        self.refused(self.directory, "control.sock exists and is no socket")
        self.assertTrue(os.path.exists(self.path))

    def test_a_place_where_no_socket_can_be_is_answered_with_a_sentence(self):
        self.refused("/nowhere", "cannot make the socket /nowhere/control.sock: No such file")
        self.refused("/tmp/" + "x" * 120, "too long for a socket's path")
        self.refused("/tmp/" + "x" * 300, "too long")


if __name__ == "__main__":
    PROGRAMS = surface.programs_of_arguments()
    unittest.main(verbosity=2)
