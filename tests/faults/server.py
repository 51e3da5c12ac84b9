"""A PostgreSQL server for a test: a temporary folder, a free port, an unprivileged user."""

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time


def programs():
    """The folder of the newest server's programs; None: there is none."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1]) if found else None


def account():
    """Whom the server runs as: servers refuse root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    return None


class Server:
    def __init__(self):
        self.programs, self.user = programs(), account()
        if not self.programs or not self.user:
            raise RuntimeError("no PostgreSQL server can be started here (Debian's package postgresql)")
        self.folder = tempfile.mkdtemp(prefix="quasar-pg-")
        os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._run([self.programs + "/initdb", "-D", self.folder + "/data", "-U", "quasar", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]).wait()
        self.process = None
        self.start()

    def _run(self, words):
        def as_user():
            if os.geteuid() == 0:
                os.setgid(self.user.pw_gid)
                os.setuid(self.user.pw_uid)

        log = open(self.folder + "/log", "ab")
        return subprocess.Popen(words, stdout=log, stderr=log, cwd=self.folder, preexec_fn=as_user)

    def start(self):
        self.process = self._run([self.programs + "/postgres", "-D", self.folder + "/data", "-p", str(self.port), "-k", self.folder,
                                  "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "shared_buffers=16MB"])
        for _ in range(10000):
            try:
                self.query("SELECT 1")
                return
            except subprocess.CalledProcessError:
                time.sleep(0.1)
        raise RuntimeError("the server does not start: " + open(self.folder + "/log").read())

    def stop(self, how=signal.SIGINT):
        if self.process:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database="postgres"):
        return f"postgresql://quasar@127.0.0.1:{self.port}/{database}"

    def query(self, sql, database="postgres"):
        out = subprocess.run([self.programs + "/psql", "-XAtq", "-F", "\t", "-c", sql, self.url(database)], check=True, capture_output=True, text=True)
        return [line.split("\t") for line in out.stdout.splitlines()]
