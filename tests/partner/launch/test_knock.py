"""Asking a port whether our server is there, and a server that the user named whether it answers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest

from partner.launch import find_server
from partner.launch.knock import Answer, knock, proof

AUTH = "partner:secret"


@contextmanager
def listening(answer: Callable[[int, str], bytes]) -> Iterator[tuple[int, list[str]]]:
    """A server that answers so, by its port and the nonce; and what it was told as authorisation."""
    told: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.append(self.headers.get("Authorization", ""))
            nonce = parse_qs(urlsplit(self.path).query).get("nonce", [""])[0]
            body = answer(self.server.server_port, nonce)  # pyright: ignore[reportAttributeAccessIssue]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_told: object) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port, told
        finally:
            server.shutdown()
            thread.join()


def answer(signed: str) -> bytes:
    return Answer(proof=signed, pid=1, prefect="3.8.8", up_s=1.0).model_dump_json().encode()


@pytest.mark.parametrize(
    ("signs", "is_believed"),
    [
        (lambda port, nonce: proof(nonce, port, AUTH), True),
        (lambda port, nonce: proof(nonce, port, "partner:guessed"), False),
        (lambda port, nonce: proof("an older nonce", port, AUTH), False),
        (lambda port, nonce: proof(nonce, port + 1, AUTH), False),
        (lambda port, nonce: "", False),
    ],
    ids=["ours", "another secret", "said again", "of another port", "nothing"],
)
def test_only_who_signs_this_knock_with_the_secret_is_our_server(
    signs: Callable[[int, str], str], is_believed: bool
) -> None:
    """Whoever answers in the right form, or passes on what our server said, gets no run of ours."""
    with listening(lambda port, nonce: answer(signs(port, nonce))) as (port, _):
        assert (knock(port, AUTH, means_use=False) is not None) == is_believed


def test_a_named_server_is_asked_with_what_the_user_has_for_it(tmp_path: Path) -> None:
    """A key, or a user and a password, or nothing."""
    with listening(lambda _port, _nonce: b'"3.8.8"') as (port, told):
        for more in ({}, {"PREFECT_API_KEY": "pnu_1"}, {"PREFECT_API_AUTH_STRING": "a:b"}):
            find_server(tmp_path, 60, environ={"PREFECT_API_URL": f"http://127.0.0.1:{port}/api", **more})
    assert told == ["", "Bearer pnu_1", "Basic YTpi"]
