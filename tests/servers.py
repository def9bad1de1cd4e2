"""Real git servers on the loopback, and some that misbehave; all end with the block."""

import base64
import http.server
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dulwich.repo import Repo
from dulwich.server import DictBackend, TCPGitServer

from tests.helpers import environment, git

HOST = "127.0.0.1"
USER, PASSWORD = "alice", "s3cret-pass"
_BLOCK = 65_536
_LIMIT_S = 30


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        port: int = found.getsockname()[1]
        return port


def program(name: str) -> Path:
    """Return one of git's own programs, or skip the test."""
    path = Path(git(Path.cwd(), "--exec-path").strip()) / name
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    return path


@contextmanager
def git_daemon(folder: Path) -> Iterator[str]:
    """Serve the repositories of a folder; yield the URL of the folder."""
    port = free_port()
    options = ("--verbose", "--export-all", "--enable=receive-pack", "--reuseaddr")
    place = (f"--listen={HOST}", f"--port={port}", f"--base-path={folder}")
    with subprocess.Popen(
        [program("git-daemon"), *options, *place],
        stderr=subprocess.PIPE,
        env=environment(),
        encoding="utf-8",
    ) as process:
        assert process.stderr
        try:
            assert any("Ready to rumble" in line for line in process.stderr)
            # Nobody else reads what it says.
            reader = threading.Thread(target=process.stderr.read, daemon=True)
            reader.start()
            yield f"git://{HOST}:{port}"
        finally:
            process.kill()


@contextmanager
def http_backend(folder: Path) -> Iterator[str]:
    """Serve a folder's repositories with basic authentication; yield `host:port`."""
    backend = program("git-http-backend")
    wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def answer(self) -> None:
            given = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Authorization") != f"Basic {wanted}":
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            done = subprocess.run(
                [backend],
                input=given,
                capture_output=True,
                check=True,
                timeout=_LIMIT_S,
                env=environment(
                    GIT_PROJECT_ROOT=str(folder),
                    GIT_HTTP_EXPORT_ALL="1",
                    PATH_INFO=path,
                    QUERY_STRING=query,
                    REMOTE_USER=USER,
                    REQUEST_METHOD=self.command,
                    CONTENT_TYPE=self.headers.get("Content-Type", ""),
                    CONTENT_LENGTH=str(len(given)),
                    HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
                    GIT_PROTOCOL=self.headers.get("Git-Protocol", ""),
                ),
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            lines = dict(line.split(": ", 1) for line in head.decode().splitlines())
            self.send_response(int(lines.pop("Status", "200").split()[0]))
            for key, value in lines.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer((HOST, 0), Handler)
    with _served(server):
        yield f"{HOST}:{server.server_port}"


@contextmanager
def web_page(page: bytes) -> Iterator[str]:
    """Answer every request with a page, as a host that wants a log-in; yield a URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        do_POST = do_GET  # noqa: N815 - the name that the base class calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer((HOST, 0), Handler)
    with _served(server):
        yield f"http://{HOST}:{server.server_port}/remote.git"


@contextmanager
def forgetful_server(repository: Path, lost: str) -> Iterator[str]:
    """Serve a repository without ever sending one of its objects; yield its URL."""

    class Forgetful(Repo):
        def find_missing_objects(self, *args: Any, **said: Any) -> Any:
            found = super().find_missing_objects(*args, **said)
            kept = [each for each in found or () if each[0] != lost.encode()]
            return None if found is None else kept

    with Forgetful(str(repository)) as served:
        backend = DictBackend({b"/remote": served})
        server = TCPGitServer(backend, HOST, 0)
        with _served(server):
            yield f"git://{HOST}:{server.server_address[1]}/remote"


@contextmanager
def _served(server: Any) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Line:
    """A line to a server that is cut after so many bytes of one direction.

    Attributes:
        port: Where it is reached.
        down: Bytes that the server may send in one connection, None for all.
        up: Bytes that the client may.
    """

    port: int
    down: int | None = None
    up: int | None = None


@contextmanager
def breaking_line(port: int) -> Iterator[Line]:
    """Forward connections to a port of this machine, as far as told."""
    with socket.create_server((HOST, 0)) as listener:
        line = Line(listener.getsockname()[1])

        def accept() -> None:
            with suppress(OSError):
                while True:
                    ends = listener.accept()[0], socket.create_connection((HOST, port))
                    args = (*ends, line.down, line.up)
                    threading.Thread(target=_forward, args=args, daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield line
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            thread.join(_LIMIT_S)


def _forward(
    near: socket.socket, far: socket.socket, down: int | None, up: int | None
) -> None:
    with near, far:
        back = threading.Thread(target=_pump, args=(near, far, up), daemon=True)
        back.start()
        _pump(far, near, down)
        back.join()


def _pump(source: socket.socket, sink: socket.socket, limit: int | None) -> None:
    """Pass bytes on until the limit, and then hang up on both."""
    left = limit
    with suppress(OSError):
        while left is None or left > 0:
            data = source.recv(_BLOCK if left is None else min(left, _BLOCK))
            if not data:
                sink.shutdown(socket.SHUT_WR)
                return
            sink.sendall(data)
            left = None if left is None else left - len(data)
        for each in (source, sink):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def silent_server() -> Iterator[str]:
    """Accept connections and never say a word; yield a URL."""
    with socket.create_server((HOST, 0)) as listener:
        yield f"git://{HOST}:{listener.getsockname()[1]}/remote"


@dataclass(frozen=True)
class SshServer:
    """A server that lets one key in.

    Attributes:
        url: Of the root folder.
        command: The `ssh` that has the key and knows the host.
    """

    url: str
    command: str


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """Serve this machine's files to a key of its own, or skip the test."""
    path = os.pathsep.join([environment()["PATH"], "/usr/sbin", "/sbin"])
    sshd = shutil.which("sshd", path=path)
    if not sshd or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        pytest.skip("OpenSSH's server is not installed")
    for name in ("host", "user"):
        words = ("-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
        subprocess.run(["ssh-keygen", *words], check=True, timeout=_LIMIT_S)
    port = free_port()
    host_key = (folder / "host.pub").read_text("ascii")
    (folder / "known").write_text(f"[{HOST}]:{port} {host_key}", "ascii")
    (folder / "sshd").write_text(
        f"Port {port}\nListenAddress {HOST}\nHostKey {folder / 'host'}\n"
        f"AuthorizedKeysFile {folder / 'user.pub'}\nStrictModes no\nUsePAM no\n"
        f"PasswordAuthentication no\nPidFile none\nPermitRootLogin yes\n",
        "ascii",
    )
    with subprocess.Popen(
        [sshd, "-D", "-e", "-f", str(folder / "sshd")],
        stderr=subprocess.PIPE,
        env=environment(),
        encoding="utf-8",
    ) as process:
        assert process.stderr
        try:
            said: list[str] = []
            for line in process.stderr:
                said.append(line)
                if "Server listening" in line:
                    break
            else:
                pytest.skip(f"sshd does not start here: {' '.join(said).strip()}")
            threading.Thread(target=process.stderr.read, daemon=True).start()
            options = f"-i {folder / 'user'} -o UserKnownHostsFile={folder / 'known'}"
            command = f"ssh -F none -o IdentitiesOnly=yes {options}"
            yield SshServer(f"ssh://{HOST}:{port}", command)
        finally:
            process.kill()
