"""A PostgreSQL server of a test's own: a temporary folder, a free port, an unprivileged user, a password."""
import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path


def _account():
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):  # servers refuse to run as root
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


@contextlib.contextmanager
def postgresql():
    """Its address; None where there are no programs of a server (Debian's package postgresql), or nobody to run them as."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    account = _account()
    if not programs or (os.geteuid() == 0 and account is None):
        yield None
        return
    folder = Path(tempfile.mkdtemp())
    (folder / "password").write_text("secret")
    if account:
        for path in (folder, folder / "password"):
            os.chown(path, account.pw_uid, account.pw_gid)
    who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    subprocess.run([programs[-1] + "/initdb", "-D", folder / "data", "-U", "tester", "-A", "scram-sha-256", "--pwfile", folder / "password", "-E", "UTF8",
                    "--locale=C", "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=folder, **who)
    server = subprocess.Popen([programs[-1] + "/postgres", "-D", folder / "data", "-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1", "-c",
                               "fsync=off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **who)
    try:
        while server.poll() is None and subprocess.run([programs[-1] + "/pg_isready", "-h", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL).returncode:
            time.sleep(0.1)
        yield f"postgresql://tester:secret@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)
