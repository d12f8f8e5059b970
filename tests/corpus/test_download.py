"""Downloads from a local server that misbehaves on request."""

import os
import resource
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import bayestopics
from bayestopics.corpus import download as module
from bayestopics.corpus.download import DownloadError, offered, reachable

BODY = bytes(range(256)) * 1000  # several blocks
download = partial(module.download, timeout=5.0, pause=0.01)


class Site(ThreadingHTTPServer):
    """Gives `answers` one after the other, the last one for ever, and writes down what it was asked."""

    answers: tuple[str, ...] = ("whole",)

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths: list[str] = []
        self.agents: set[str | None] = set()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/data/corpus.txt"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        site = self.server
        answer = site.answers[min(len(site.paths), len(site.answers) - 1)]
        site.paths.append(self.path)
        site.agents.add(self.headers["User-Agent"])
        self.close_connection = True
        kind, _, detail = answer.partition(" ")
        if kind == "silent":
            return
        if kind == "stalled-before-headers":
            site.over.wait()
            return
        self.send_response(int(kind) if kind.isdigit() else 200)
        if kind.startswith("chunked"):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(BODY), BODY))
            self.wfile.write({"chunked": b"0\r\n\r\n", "chunked-cut": b"1000\r\nabc", "chunked-open": b""}[kind])
            return
        if detail:
            self.send_header("Location", detail)
        body = b"" if kind.isdigit() else BODY
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if kind == "whole" else body[:100_000])
        if kind == "stalled":
            site.over.wait()

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxies from outside, and no name ever resolved by a real name server."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    resolve = socket.getaddrinfo

    def local(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host != "127.0.0.1":
            host.encode("idna")  # as the real one does: a label that is too long is a UnicodeError
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", local)


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as bound:  # bound and not listening: nobody else gets it, nobody answers
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def assert_fails(url: str, folder: Path, fault: str, **options: Any) -> None:
    """The error is one line naming the URL and the fault; an older file stays, and nothing else does."""
    target = folder / "corpus.txt"
    target.write_bytes(b"older")
    with pytest.raises(DownloadError) as caught:
        download(url, target, **options)
    assert str(caught.value).startswith(f"{url}: ")
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)
    assert target.read_bytes() == b"older"
    assert list(folder.iterdir()) == [target]


@pytest.mark.parametrize("answer", ["whole", "chunked"])
def test_file_arrives_whole(site: Site, tmp_path: Path, answer: str) -> None:
    site.answers = (answer,)
    target = tmp_path / "new" / "folder" / "corpus.txt"
    assert download(site.url, target) == target
    assert target.read_bytes() == BODY
    assert list(target.parent.iterdir()) == [target]
    assert site.agents == {f"bayestopics/{bayestopics.__version__}"}


def test_older_file_is_replaced(site: Site, tmp_path: Path) -> None:
    target = tmp_path / "corpus.txt"
    target.write_bytes(b"older")
    download(site.url, target)
    assert target.read_bytes() == BODY


@pytest.mark.parametrize(("umask", "mode"), [(0o027, 0o640), (0o002, 0o664)])
def test_permissions_follow_the_umask(site: Site, tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        target = download(site.url, tmp_path / "corpus.txt")
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_same_target_at_once(site: Site, tmp_path: Path) -> None:
    target = tmp_path / "corpus.txt"
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: download(site.url, target), range(16))) == {target}
    assert target.read_bytes() == BODY
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("location", "path"), [("moved.txt", "/data/moved.txt"), ("/moved.txt", "/moved.txt"), ("{root}/x", "/x")]
)
def test_redirect_is_followed(site: Site, tmp_path: Path, location: str, path: str) -> None:
    root = site.url.removesuffix("/data/corpus.txt")
    site.answers = (f"301 {location.format(root=root)}", "whole")
    target = download(site.url, tmp_path / "corpus.txt")
    assert target.read_bytes() == BODY
    assert site.paths == ["/data/corpus.txt", path]


@pytest.mark.parametrize("location", ["file:///etc/hostname", "ftp://127.0.0.1/x"])
def test_redirect_to_another_scheme_is_refused(site: Site, tmp_path: Path, location: str) -> None:
    site.answers = (f"301 {location}",)
    assert_fails(site.url, tmp_path, location.partition(":")[0])
    assert len(site.paths) == 1


def test_endless_redirect(site: Site, tmp_path: Path) -> None:
    site.answers = ("302 /data/corpus.txt",)
    assert_fails(site.url, tmp_path, "infinite loop")


@pytest.mark.parametrize("status", ["404", "403", "410", "202"])
def test_final_status_is_asked_once(site: Site, tmp_path: Path, status: str) -> None:
    site.answers = (status,)
    assert_fails(site.url, tmp_path, f"HTTP {status}")
    assert len(site.paths) == 1


@pytest.mark.parametrize("passing", ["500", "503", "429", "cut", "chunked-cut", "chunked-open", "silent"])
def test_passing_fault(site: Site, tmp_path: Path, passing: str) -> None:
    site.answers = (passing, passing, "whole")
    target = download(site.url, tmp_path / "corpus.txt")
    assert target.read_bytes() == BODY
    assert len(site.paths) == 3


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("500", "HTTP 500"),
        ("cut", f"connection cut after 100000 of {len(BODY)} bytes"),
        ("chunked-cut", "of an unknown number of bytes"),
        ("chunked-open", f"connection cut after {len(BODY)} of an unknown number of bytes"),
        ("silent", "connection cut after 0 of"),
    ],
)
def test_lasting_fault(site: Site, tmp_path: Path, answer: str, fault: str) -> None:
    site.answers = (answer,)
    assert_fails(site.url, tmp_path, fault)
    assert len(site.paths) == 3


@pytest.mark.parametrize("answer", ["stalled-before-headers", "stalled"])
def test_stalled_server_times_out(site: Site, tmp_path: Path, answer: str) -> None:
    # a body shorter than announced, then silence
    site.answers = (answer,)
    start = time.monotonic()
    assert_fails(site.url, tmp_path, "timed out", timeout=0.2, attempts=2)
    assert time.monotonic() - start < 2
    assert len(site.paths) == 2


def test_pause_doubles(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    site.answers = ("500",)
    assert_fails(site.url, tmp_path, "HTTP 500", attempts=4, pause=1.0)
    assert pauses == [1.0, 2.0, 4.0]


def interrupt(_: float) -> None:
    raise KeyboardInterrupt


def test_interruption_leaves_nothing(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.answers = ("cut",)
    monkeypatch.setattr(module.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        download(site.url, tmp_path / "corpus.txt")
    assert list(tmp_path.iterdir()) == []


def test_fault_of_the_disk_is_not_blamed_on_the_url(site: Site, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(BODY) // 2, hard))  # as good as a full disk
    try:
        with pytest.raises(OSError, match="File too large"):
            download(site.url, tmp_path / "corpus.txt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(site.paths) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/x", "data:,x", "/etc/hostname", ""])
def test_other_schemes_are_refused(tmp_path: Path, url: str) -> None:
    assert_fails(url, tmp_path, "only http and https")


@pytest.mark.parametrize(
    "url", ["http://", "http://127.0.0.1:port/", "http://[::1/", "http://127.0.0.1/a b", "http://127.0.0.1/é"]
)
def test_url_that_makes_no_sense(tmp_path: Path, url: str) -> None:
    assert_fails(url, tmp_path, "")


def test_nobody_listens(tmp_path: Path, closed_port: int) -> None:
    assert_fails(f"http://127.0.0.1:{closed_port}/x", tmp_path, "Connection refused")


def test_name_not_resolved(tmp_path: Path) -> None:
    assert_fails("http://nowhere.invalid/x", tmp_path, "name not resolved")


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_reachable(site: Site, closed_port: int) -> None:
    start = time.monotonic()
    expected = {
        site.url: True,
        f"{site.url}?again": True,
        f"http://127.0.0.1:{closed_port}/x": False,
        "http://nowhere.invalid/x": False,
        "http://127.0.0.1:port/": False,
        "http://[::1/": False,
        f"http://{'x' * 70}.invalid/": False,
        "file:///etc/hostname": False,
        "": False,
    }
    assert reachable(expected) == expected
    assert time.monotonic() - start < 1
    assert site.paths == []  # a connection, no request
    assert reachable([]) == {}


def count_connections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    connect: Callable[..., socket.socket] = socket.create_connection
    seen: list[tuple[str, int]] = []

    def counted(address: tuple[str, int], *args: Any) -> socket.socket:
        seen.append(address)
        return connect(address, *args)

    monkeypatch.setattr(socket, "create_connection", counted)
    return seen


def test_reachable_tries_each_host_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_connections(monkeypatch)
    assert all(reachable(f"{site.url}?{i}" for i in range(20)).values())
    assert seen == [("127.0.0.1", site.server_port)]


def test_reachable_does_not_wait_for_a_slow_name_server(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo

    def slow(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host.endswith(".invalid"):
            site.over.wait()
        return resolve(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    urls = [f"https://slow{i}.invalid/" for i in range(5)]
    start = time.monotonic()
    assert reachable([*urls, site.url], timeout=0.3) == {**dict.fromkeys(urls, False), site.url: True}
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("form", ["http://127.0.0.1:{}", "127.0.0.1:{}"])
def test_proxy_is_tried_instead(
    site: Site, closed_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("http_proxy", form.format(site.server_port))
    monkeypatch.setenv("https_proxy", form.format(closed_port))
    monkeypatch.setenv("no_proxy", "direct.invalid")
    expected = {"http://a.invalid/": True, "http://direct.invalid/": False, "https://a.invalid/": False}
    assert reachable(expected) == expected
    assert download("http://a.invalid/x", tmp_path / "x").read_bytes() == BODY
    assert site.paths == ["http://a.invalid/x"]


def test_offered_asks_for_each_file(site: Site, closed_port: int) -> None:
    expected = {site.url: True, f"http://127.0.0.1:{closed_port}/x": False, "http://nowhere.invalid/x": False}
    assert offered(expected) == expected
    site.answers = ("404",)
    assert offered([site.url]) == {site.url: False}
