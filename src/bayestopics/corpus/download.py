"""Download a file over HTTP: the complete file or none, with time-outs and a few attempts."""

import http.client
import itertools
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from bayestopics.base.files import replacing

_DEFAULT_PORTS = {"http": 80, "https": 443}
_BLOCK_BYTES = 1 << 16
_LOST = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError)


class DownloadError(RuntimeError):
    """A file could not be downloaded; the message is one line that names the URL and the fault."""


class _Fault(Exception):
    """What went wrong in one attempt; `passing` if another attempt may succeed."""

    def __init__(self, description: str, *, passing: bool) -> None:
        super().__init__(description)
        self.passing = passing


def download(url: str, target: Path, *, timeout: float = 20.0, attempts: int = 3, pause: float = 1.0) -> Path:
    """Download `url` to `target`, which changes only after everything has arrived.

    After a time-out, a lost connection or HTTP 429 or 5xx there is another attempt, after `pause`, 2 `pause`, ...
    seconds. `timeout` limits the wait for the connection and for each piece of data, not the whole download.
    """
    if url.partition(":")[0].lower() not in _DEFAULT_PORTS:
        raise DownloadError(f"{url}: scheme refused, only http and https are allowed")
    with replacing(target) as partial:
        for attempt in itertools.count(1):
            try:
                with open(partial, "wb") as file:
                    file.writelines(_blocks(url, timeout))
                break
            except _Fault as fault:
                if not fault.passing or attempt >= attempts:
                    raise DownloadError(" ".join(f"{url}: {fault}".split())) from fault.__cause__
            time.sleep(pause * 2 ** (attempt - 1))
    return target


def offered(urls: Iterable[str], *, timeout: float = 5.0) -> dict[str, bool]:
    """Whether each URL is available, according to its host's answer to a HEAD request; never raises.

    If a host does not support HEAD (405 or 501), the URL counts as available. Hosts that cannot be reached are not
    asked.
    """
    urls = list(urls)
    hosts = reachable(urls, timeout=timeout)
    found = dict.fromkeys(urls, False)

    def ask(url: str) -> None:
        try:
            with _opener().open(urllib.request.Request(url, method="HEAD"), timeout=timeout) as response:
                found[url] = response.status < 300
        except HTTPError as error:
            error.close()
            found[url] = error.code in (405, 501)
        except (OSError, http.client.HTTPException, ValueError):
            pass

    threads = [threading.Thread(target=ask, args=(url,), daemon=True) for url in set(urls) if hosts[url]]
    deadline = time.monotonic() + timeout
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return dict(found)


def reachable(urls: Iterable[str], *, timeout: float = 3.0) -> dict[str, bool]:
    """Whether the host of each URL (or the proxy in front of it) accepts a connection; never raises."""
    proxies = urllib.request.getproxies()
    endpoints = {url: _endpoint(url, proxies) for url in urls}
    answering: set[tuple[str, int]] = set()

    def knock(endpoint: tuple[str, int]) -> None:
        try:
            with socket.create_connection(endpoint, timeout):
                answering.add(endpoint)
        except (OSError, ValueError):  # ValueError: a host name that cannot be encoded
            pass

    deadline = time.monotonic() + timeout
    # daemon threads: name resolution has no time-out of its own and must not keep the program alive
    distinct = {endpoint for endpoint in endpoints.values() if endpoint}
    threads = [threading.Thread(target=knock, args=(endpoint,), daemon=True) for endpoint in distinct]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return {url: endpoint in answering for url, endpoint in endpoints.items()}


def _blocks(url: str, timeout: float) -> Iterator[bytes]:
    """The body, piece by piece; every network error becomes a `_Fault` (disk errors do not)."""
    received, expected = 0, None
    try:
        with _opener().open(url, timeout=timeout) as response:
            if response.status != 200:  # for example 202 "ask again later", a success without the file
                raise HTTPError(url, response.status, response.reason, response.headers, None)
            expected = response.length  # None without Content-Length
            while block := response.read(_BLOCK_BYTES):
                received += len(block)
                yield block
        if expected is not None and received < expected:  # http.client does not report this
            raise http.client.IncompleteRead(b"", expected - received)
    except HTTPError as error:
        error.close()
        passing = error.code == 429 or error.code >= 500
        raise _Fault(f"HTTP {error.code} {error.reason}", passing=passing) from error
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: unencodable URL
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, TimeoutError):
            raise _Fault("timed out", passing=True) from error
        if isinstance(cause, (*_LOST, http.client.IncompleteRead)):
            received += len(getattr(cause, "partial", b""))
            size = "an unknown number of" if expected is None else expected
            raise _Fault(f"connection cut after {received} of {size} bytes", passing=True) from error
        if isinstance(cause, socket.gaierror):
            raise _Fault("name not resolved", passing=False) from error
        raise _Fault(str(cause) or type(cause).__name__, passing=False) from error


def _opener() -> urllib.request.OpenerDirector:
    """urllib's usual opener without ftp, file and data URLs, so that no redirect can lead there."""
    opener = urllib.request.OpenerDirector()
    opener.addheaders = [("User-Agent", f"bayestopics/{version('bayestopics')}")]
    for name in ("Proxy", "Unknown", "HTTP", "HTTPS", "HTTPDefaultError", "HTTPRedirect"):
        opener.add_handler(getattr(urllib.request, f"{name}Handler")())
    opener.add_handler(urllib.request.HTTPErrorProcessor())
    return opener


def _endpoint(url: str, proxies: dict[str, str]) -> tuple[str, int] | None:
    """The host and port to which a download of `url` connects first; None if the URL is not valid."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            return None
        proxy = proxies.get(parts.scheme)
        if proxy and not urllib.request.proxy_bypass(parts.netloc):
            parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        return parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
    except ValueError:  # a bad port or IPv6 address
        return None
