"""HTTP answers with an end: so many bytes when unpacked, so many seconds in all, and no redirect is followed."""

import os
import socket
import threading
from collections.abc import Mapping
from typing import Any

import requests
from requests.adapters import HTTPAdapter

CONNECT_S = 10.0
"""For each of a host's addresses, the deadline allowing: the timer has no connection to cut before there is one."""
_CHUNK_BYTES = 1 << 16


class AnswerTooLarge(requests.RequestException):
    """The answer went on beyond what is taken."""


class Redirected(requests.RequestException):
    """The answer points elsewhere; following it would carry the key there."""


class BoundedAdapter(HTTPAdapter):
    """Sends one request and reads its whole answer.

    A timer cuts the connection when the time is over: a socket's own timeout starts anew with each byte that drips in.
    Remembers the last answer's status and Retry-After, which Tavily's client does not pass on.
    """

    def __init__(self, most_bytes: int, deadline_s: float) -> None:
        super().__init__()
        self._most_bytes = most_bytes
        self._deadline_s = deadline_s
        self._connections: list[Any] = []  # urllib3's; HTTP and HTTPS share no public type
        self.status = 0
        self.retry_after = ""

    def get_connection_with_tls_context(self, *given: Any, **named: Any) -> Any:  # Any: passed through as it came
        pool = super().get_connection_with_tls_context(*given, **named)
        make = pool.ConnectionCls

        def remember(**options: Any) -> Any:  # Any: passed through as it came
            connection = make(**options)
            self._connections.append(connection)
            return connection

        pool.ConnectionCls = remember  # pyright: ignore[reportAttributeAccessIssue] -- called, never subclassed
        return pool

    def send(
        self, request: requests.PreparedRequest, *given: Any, **named: Any
    ) -> requests.Response:  # Any: as it came
        late = threading.Event()
        timer = threading.Timer(self._deadline_s, self._cut, [late])
        timer.daemon = True
        timer.start()
        try:
            times = (min(CONNECT_S, self._deadline_s), self._deadline_s)
            response = super().send(request, *given, **{**named, "stream": True, "timeout": times})
            self._read(response, late)
        except requests.ConnectTimeout:
            raise requests.ConnectionError("nobody answers at the address") from None
        except requests.RequestException:
            if late.is_set():
                raise requests.Timeout(f"no whole answer after {self._deadline_s:g} s") from None
            raise
        finally:
            timer.cancel()
            self._connections.clear()
        return response

    def _read(self, response: requests.Response, late: threading.Event) -> None:
        self.status = response.status_code
        self.retry_after = response.headers.get("Retry-After", "")
        if response.is_redirect:
            response.close()
            raise Redirected(f"status {response.status_code}")
        body = bytearray()
        try:
            while chunk := _read_some(response):
                body += chunk
                if len(body) > self._most_bytes:
                    raise AnswerTooLarge(f"over {self._most_bytes / 1e6:g} MB")
                if late.is_set():
                    break
        finally:
            response.close()
        if late.is_set():  # a connection that is cut can look like an answer that is over
            raise requests.Timeout(f"no whole answer after {self._deadline_s:g} s")
        response._content = bytes(body)  # pyright: ignore[reportPrivateUsage] -- what reading `content` sets, bounded
        response._content_consumed = True  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue] -- likewise

    def _cut(self, late: threading.Event) -> None:
        late.set()
        for connection in list(self._connections):
            sock = getattr(connection, "sock", None)
            if isinstance(sock, socket.socket):
                try:
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)  # TLS's own would race with who reads
                except OSError:
                    continue  # it has ended by itself


def open_session(adapter: BoundedAdapter, url: str, proxies: Mapping[str, str] | None) -> requests.Session:
    """A session that takes proxies and certificates from the environment: a .netrc entry would replace the key."""
    session = requests.Session()
    session.trust_env = False
    session.proxies.update(requests.utils.get_environ_proxies(url) if proxies is None else dict(proxies))
    session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return session


def _read_some(response: requests.Response) -> bytes:
    """What has arrived, unpacked; a connection that broke raises as `requests` would."""
    from urllib3.exceptions import HTTPError

    try:
        return response.raw.read1(_CHUNK_BYTES, decode_content=True)
    except (HTTPError, OSError) as error:
        raise requests.ConnectionError(f"the answer broke off: {type(error).__name__}") from None
