"""What goes to a client while its cell runs, without ever waiting for a slow one."""

import select
import socket
from collections import deque

from sandbox.frames import JSON, Message, encode, to_json

_SEND_S = 30.0


class Capture:
    """One stream of a cell: hands on the first bytes, counts them all."""

    def __init__(self, descriptor: int, most: int) -> None:
        self.descriptor = descriptor
        self._most = most
        self._captured = 0
        self._total = 0

    def take(self, data: bytes) -> bytes:
        self._total += len(data)
        taken = data[: self._most - self._captured]
        self._captured += len(taken)
        return taken

    def figures(self) -> Message:
        return {"captured": self._captured, "total": self._total, "truncated": self._total > self._captured}


class Outbox:
    """Frames on their way to a client. What a cell may show is bounded, and so is this."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self._waiting: deque[memoryview] = deque()
        self._poll: select.poll | None = None
        self._is_gone = False

    def register(self, poll: select.poll) -> None:
        self._poll = poll
        poll.register(self._client, select.POLLIN)

    def handle(self, event: int, poll: select.poll) -> bool:
        """Send on what can be sent; True when the client has gone away."""
        if event & select.POLLOUT:
            self._send()
        if event & (select.POLLIN | select.POLLHUP | select.POLLERR) and self._has_hung_up():
            poll.unregister(self._client)
            self._is_gone = True
            return True
        return False

    def push_json(self, message: Message) -> None:
        self.push(JSON, to_json(message))

    def push(self, kind: bytes, body: bytes) -> None:
        if self._is_gone:
            return
        self._waiting.append(memoryview(encode(kind, body)))
        self._send()

    def finish(self) -> None:
        """Send the rest, and wait for it."""
        self._client.settimeout(_SEND_S)
        try:
            while self._waiting:
                self._client.sendall(self._waiting.popleft())
        finally:
            self._client.settimeout(None)

    def _send(self) -> None:
        try:
            while self._waiting:
                sent = self._client.send(self._waiting[0], socket.MSG_DONTWAIT)
                if sent < len(self._waiting[0]):
                    self._waiting[0] = self._waiting[0][sent:]
                else:
                    self._waiting.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self._waiting.clear()
        if self._poll is not None and not self._is_gone:
            self._poll.modify(self._client, select.POLLIN | (select.POLLOUT if self._waiting else 0))

    def _has_hung_up(self) -> bool:
        try:
            return not self._client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
