# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of statements, karmactl and control.sock: the programs they start."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

WAIT_S = 20  # for anything that normally takes milliseconds


class Programs:
    """karmactl and the control plane that stands behind it, from the command line."""

    def __init__(self, karmactl, fake):
        self.karmactl, self.fake = os.path.abspath(karmactl), os.path.abspath(fake)

    @contextlib.contextmanager
    def controlplane(self, mode="connected", run_dir=None, group="", prefix=()):
        """A running fake, its command begun with 'prefix'."""
        with run_directory(run_dir) as directory:
            process = subprocess.Popen([*prefix, self.fake, directory, mode, group],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                if process.stdout.readline() != "ready\n":
                    raise RuntimeError(process.stderr.read())
                yield Controlplane(process, f"{directory}/control.sock")
            finally:
                if process.poll() is None:
                    process.terminate()
                process.wait(WAIT_S)
                process.stdout.close()
                process.stderr.close()

    def run(self, *args, path=None, stdin="", env=None, **options):
        """karmactl's (status, standard output, standard error)."""
        command = [self.karmactl] + (["--socket", path] if path else []) + list(args)
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False,
                              timeout=WAIT_S, env={**environment(), **(env or {})}, **options)
        return done.returncode, done.stdout, done.stderr


class Controlplane:
    def __init__(self, process, path):
        self.process, self.path = process, path

    def stop(self):
        """Ends it and returns what it logged."""
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=WAIT_S)
        if self.process.returncode != 0:
            raise RuntimeError(f"ended with {self.process.returncode}: {log}")
        return log


def environment():
    return {name: value for name, value in os.environ.items() if name != "KARMALB_CONTROL"}


@contextlib.contextmanager
def run_directory(given=None):
    directory = given or tempfile.mkdtemp(prefix="karmalb-surface-")
    try:
        yield directory
    finally:
        if not given:
            shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def listener(behave):
    """A server that calls behave(connection) for each connection; gives its socket's path."""
    with run_directory() as directory, socket.socket(socket.AF_UNIX) as server:
        path = f"{directory}/control.sock"
        server.bind(path)
        server.listen(8)
        held = []

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                held.append(connection)
                with contextlib.suppress(OSError):
                    behave(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
        for connection in held:
            connection.close()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(WAIT_S)


def programs_of_arguments():
    """The two programs named last on the command line; what is before them is left there."""
    fake, karmactl = sys.argv.pop(), sys.argv.pop()
    return Programs(karmactl, fake)
