# SPDX-License-Identifier: Apache-2.0
"""A private PostgreSQL server and a TCP proxy that can fail, both for tests.

The server needs no configuration of the machine: only the programs of Debian's package 'postgresql-15', or those of
another release of PostgreSQL. It works for root, for whom the server runs as 'nobody', and for any other user. The
module also has what slurm.py shares with it: free_port, start_guard and tail.
"""
import contextlib
import glob
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PACKAGE = "postgresql-15"


def _programs():
    """Returns the folder with initdb, postgres and psql of the newest release that is installed, or None."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda name: [int(part) for part in name.split("/")[4].split(".") if part.isdigit()], reverse=True)
    for folder in map(pathlib.Path, folders + os.environ.get("PATH", "").split(os.pathsep)):
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres", "psql")):
            return folder
    return None


def missing():
    """Returns "" if PostgreSQL is installed, else a sentence that says which package to install."""
    return "" if _programs() else f"PostgreSQL is not installed: install the Debian package '{PACKAGE}'"


def free_port():
    """Returns a port of 127.0.0.1 that nobody listens on; it lies below those that Linux gives to outgoing connections."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def start_guard(script, *words):
    """Starts `script --guard WORDS...` outside this process' tree; its stdin ends when this process ends in any way, or closes what is returned."""
    command = ["setsid", "--fork", sys.executable, "-BS", os.path.abspath(script), "--guard", *map(str, words)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    if child.wait():
        raise RuntimeError("the guard of a test's daemons does not start")
    return child.stdin


def tail(path, lines=20):
    """Returns the last lines of a log, or a note that there is none."""
    try:
        return "".join(pathlib.Path(path).read_text(errors="replace").splitlines(keepends=True)[-lines:])
    except OSError:
        return f"there is no log {path}\n"


def _server(data):
    """Returns the process id of the server that runs on this data folder, or 0."""
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
        return pid if str(data).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") else 0
    except (OSError, ValueError):
        return 0


def _signal(data, number, seconds=5):
    """Ends the server of a data folder by a signal, by SIGKILL if that takes too long, and returns when it has ended."""
    pid, end = _server(data), time.monotonic() + seconds
    while pid and _server(data) == pid:
        with contextlib.suppress(ProcessLookupError):
            if number:
                os.kill(pid, number)
            number = 0
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _remove(data, private):
    """Ends the server of a data folder, if there is one, and removes all that it has on the disk."""
    for folder in (data, private):
        for _ in range(100):
            _signal(data, signal.SIGQUIT)
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.02)  # An initdb or a starting server whose test has died may still write here, until it misses its files.


class Postgres:
    """A private PostgreSQL server with an empty database 'kbopt', from the entry of a `with` block to its end.

    The data lie in a new folder below `folder`; as root, where 'nobody' cannot get to that, in one below /tmp. The
    server listens on a Unix socket that only its user and root can reach and on a free port of 127.0.0.1, where every
    local user may connect. The database does not survive a crash of the machine, but it does survive one of the server.
    At the end of the block the server is ended and its files are removed; a guard does so if this process is killed,
    even by SIGKILL; a server that is itself killed by SIGKILL may leave 56 bytes of shared memory behind. If an exception
    leaves the block, then the end of the server's log goes to stderr.

    With `tls`, a name of this server, connections by TCP need TLS and a password; `addresses` are further ones that it
    listens on.

    url, tcp_url: how to connect, by the socket and by TCP; they stay the same over restarts.
    certificate: with `tls` the path of the server's certificate, which is its own root.
    port: the port of 127.0.0.1 (and of the socket), for a Proxy.
    log: the path of the server's log.
    """

    def __init__(self, folder, tls="", addresses=()):
        self._parent = pathlib.Path(folder).resolve()
        self._tls, self._addresses = tls, ("127.0.0.1", *addresses)
        self._process = None

    def __enter__(self):
        self._bin = _programs()
        if not self._bin:
            raise RuntimeError(missing())
        self._parent.mkdir(parents=True, exist_ok=True)
        as_root = os.geteuid() == 0
        reachable = not as_root or all(level.stat().st_mode & 1 for level in (self._parent, *self._parent.parents))
        self._data = pathlib.Path(tempfile.mkdtemp(prefix="postgres-", dir=self._parent if reachable else "/tmp"))
        self._private = private = pathlib.Path(tempfile.mkdtemp(prefix="kbopt-", dir="/tmp"))
        self._guard = start_guard(__file__, self._data, private)
        try:
            self._as_user = {}
            if as_root:
                nobody = pwd.getpwnam("nobody")
                self._as_user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
                for path in (private, self._data):
                    os.chown(path, nobody.pw_uid, nobody.pw_gid)
            self.log, self.port = private / "log", free_port()
            self.url = f"postgresql:///kbopt?host={private}&port={self.port}&user=kbopt"
            self.tcp_url = f"postgresql://kbopt@127.0.0.1:{self.port}/kbopt"
            self._environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
            command = [self._bin / "initdb", "--pgdata", self._data, "--username=kbopt", "--auth=trust", "--no-sync", "--no-locale", "--encoding=UTF8"]
            done = subprocess.run(command, env=self._environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **self._as_user)
            if done.returncode:
                raise RuntimeError(f"initdb failed:\n{done.stdout}")
            if self._tls:
                self._make_certificate()
            self.start()
            self._psql("create database kbopt", self.url.replace("/kbopt?", "/postgres?"))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind, error, trace):
        if kind:
            sys.stderr.write(f"The log of PostgreSQL ends:\n{tail(self.log)}")
        self._end()

    def _end(self):
        self.stop(signal.SIGQUIT)
        _remove(self._data, self._private)
        self._guard.close()

    def _make_certificate(self):
        self.certificate, key = self._private / "server.crt", self._private / "server.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={self._tls}", "-addext", f"subjectAltName=DNS:{self._tls}", "-keyout", key, "-out", self.certificate],
                       check=True, capture_output=True, **self._as_user)
        (self._data / "pg_hba.conf").write_text("local all all trust\nhostssl all all all scram-sha-256\n")

    def _psql(self, text, url):
        command = [self._bin / "psql", "-AtXq", "-v", "ON_ERROR_STOP=1", "-f", "-", url]
        done = subprocess.run(command, env=self._environment, input=text, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"psql failed: {done.stderr.strip()}")
        return done.stdout.rstrip("\n")

    def sql(self, text):
        """Runs SQL statements, each one in its own transaction, and returns what `psql -Atq` prints: a line for each row, columns parted by '|'.

        Raises RuntimeError with psql's message at the first statement that fails.
        """
        return self._psql(text, self.url)

    def start(self):
        """Starts the server if it does not run, and returns when it takes connections; raises RuntimeError with the end of its log if it does not within 60 seconds."""
        if self._process:
            return
        settings = {"port": self.port, "listen_addresses": ",".join(self._addresses), "unix_socket_directories": self._private, "fsync": "off", "full_page_writes": "off",
                    "shared_buffers": "16MB", "dynamic_shared_memory_type": "mmap", "logging_collector": "off", "log_destination": "stderr"}
        if self._tls:
            settings.update(ssl="on", ssl_cert_file=self.certificate, ssl_key_file=self._private / "server.key")
        command = [self._bin / "postgres", "-D", self._data, *(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(command, env=self._environment, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **self._as_user)
        end = time.monotonic() + 60
        while True:
            # The eighth line of this file is the server's state.
            with contextlib.suppress(OSError):
                lines = (self._data / "postmaster.pid").read_text().split("\n")
                if lines[0] == str(self._process.pid) and len(lines) > 7 and lines[7].strip() == "ready":
                    return
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop(signal.SIGQUIT)
                raise RuntimeError(f"PostgreSQL does not start:\n{tail(self.log)}")
            time.sleep(0.01)

    def stop(self, how=signal.SIGINT):
        """Stops the server if it runs, and returns when it has ended.

        Open transactions are rolled back and connections are closed. With signal.SIGQUIT the server stops as in a crash,
        and recovers from its log when it is started again.
        """
        if not self._process:
            return
        if self._process.poll() is None:
            self._process.send_signal(how)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def restart(self):
        """Stops the server as in a crash, which cuts all connections, and starts it again."""
        self.stop(signal.SIGQUIT)
        self.start()


class Proxy:
    """A TCP proxy on 127.0.0.1, at a free port `port`, to port `target` of 127.0.0.1, from the entry of a `with` block to its end.

    If the target does not listen, then a new connection is accepted and closed at once.
    """

    def __init__(self, target):
        self._target = target
        self._flow = threading.Event()
        self._flow.set()
        self._lock = threading.Lock()
        self._open = set()

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind, error, trace):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        self.cut()
        self._flow.set()

    def stall(self):
        """Holds all bytes, and the ends of connections, in both directions until go_on(); connections stay open and new ones are accepted."""
        self._flow.clear()

    def go_on(self):
        """Ends a stall; the bytes that were held are forwarded, except those of connections that were cut."""
        self._flow.set()

    def cut(self):
        """Closes all connections at both sides, also during a stall; new ones are accepted."""
        with self._lock:
            for end in self._open:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client, server):
        back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
        back.start()
        self._pump(client, server)
        back.join()
        with self._lock:
            self._open -= {client, server}
        client.close()
        server.close()

    def _pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._flow.wait()
                sink.sendall(data)
        self._flow.wait()
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__" and sys.argv[1:2] == ["--guard"]:
    sys.stdin.read()
    _remove(*map(pathlib.Path, sys.argv[2:]))
