"""Messages between our processes: JSON, and raw bytes where text would be copied for nothing.

Two kinds of socket carry them. Between a client and the sandbox host, a stream: each frame is a length, a kind and a
body. Between the host and what runs inside the walls, packets: each names its sender's process, as the system saw it.
"""

import array
import json
import socket
import struct
from collections.abc import Iterator
from typing import Any, Final, cast

JSON: Final = b"j"
STDOUT: Final = b"o"
STDERR: Final = b"e"

_HEADER = struct.Struct("!Ic")
_CREDENTIALS = struct.Struct("3i")
_PACKET_BYTES: Final = 64_000
_SEND_S: Final = 5
_SMALL: Final = 1000
_LAST, _MORE, _ANEW = b".", b"+", b"!"

Message = dict[str, Any]  # Any: JSON


class TooLarge(Exception):
    """A frame larger than its reader takes."""


def encode(kind: bytes, body: bytes) -> bytes:
    return _HEADER.pack(len(body), kind) + body


def to_json(message: Message) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def send_json(stream: socket.socket, message: Message) -> None:
    stream.sendall(encode(JSON, to_json(message)))


class FrameReader:
    """Reads whole frames from a stream, as they come."""

    def __init__(self, stream: socket.socket, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    def read(self) -> tuple[bytes, bytes] | None:
        """The next frame's kind and body, or None at the end."""
        while True:
            if len(self._buffer) >= _HEADER.size:
                length, kind = _HEADER.unpack_from(self._buffer)
                if length > self._max_bytes:
                    raise TooLarge(f"a frame of {length} bytes; {self._max_bytes} are taken")
                end = _HEADER.size + length
                if len(self._buffer) >= end:
                    body = bytes(self._buffer[_HEADER.size : end])
                    del self._buffer[:end]
                    return kind, body
            received = self._stream.recv(1 << 18)
            if not received:
                return None
            self._buffer += received

    def read_json(self) -> Message | None:
        frame = self.read()
        return None if frame is None else json.loads(frame[1])


def packet_pair() -> tuple[socket.socket, socket.socket]:
    """A host's end, which is told who sends, and the other end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_S, 0))  # the other end may not read
    return ours, theirs


def packets(message: Message) -> Iterator[bytes]:
    """A message cut into packets, each saying whether more follow."""
    body = to_json(message)
    for start in range(0, len(body) or 1, _PACKET_BYTES):
        is_last = start + _PACKET_BYTES >= len(body)
        yield (_LAST if is_last else _MORE) + body[start : start + _PACKET_BYTES]


def send_packets(channel: socket.socket, message: Message) -> None:
    for packet in packets(message):
        channel.send(packet)


def send_anew(channel: socket.socket, message: Message) -> None:
    """Send a message to whoever reads from here on; a half message that its predecessor left unread is void."""
    channel.send(_ANEW)
    send_packets(channel, message)


def receive_packets(channel: socket.socket) -> Message | None:
    """The next message, for the side that trusts its peer; None when the peer is gone."""
    body = bytearray()
    while True:
        packet = channel.recv(_PACKET_BYTES + 1)
        if not packet:
            return None
        if packet == _ANEW:
            body.clear()
            continue
        body += packet[1:]
        if packet[:1] == _LAST:
            return json.loads(body)


class PacketReader:
    """Puts messages together from packets of processes that are not trusted.

    Each sender's packets are kept apart; descriptors that came along are dropped by the kernel, for want of room.
    """

    def __init__(self, channel: socket.socket, max_bytes: int) -> None:
        self._channel = channel
        self.max_bytes = max_bytes
        self.main: int | None = None
        """Who may send more than one small packet; None: anybody."""
        self.last_bytes = 0
        """The size of the last whole message."""
        self._parts: dict[int, bytearray] = {}

    def read(self) -> tuple[int, Message] | None:
        """A sender's process id and its whole message; None when nothing is whole yet. EOFError at the end."""
        try:
            packet, ancillary, _, _ = self._channel.recvmsg(
                _PACKET_BYTES + 1, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_DONTWAIT
            )
        except BlockingIOError:
            return None
        if not packet:
            raise EOFError
        pid = _sender(ancillary)
        if self.main not in (None, pid) and (packet[:1] != _LAST or len(packet) > _SMALL):
            return None  # whoever that is has nothing so long to say
        parts = self._parts.setdefault(pid, bytearray())
        parts += packet[1:]
        if len(parts) > self.max_bytes:
            del self._parts[pid]
            raise TooLarge(f"a message of more than {self.max_bytes} bytes")
        if packet[:1] != _LAST:
            return None
        body = self._parts.pop(pid)
        self.last_bytes = len(body)
        try:
            message: object = json.loads(body)
        except RecursionError:
            message = None
        if not isinstance(message, dict):
            raise ValueError("a message that is no object")  # noqa: TRY004  (what came is wrong, not its handling)
        return pid, cast("Message", message)

    def forget(self) -> None:
        """Drop what dead senders left unfinished."""
        self._parts.clear()


def _sender(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and len(data) >= _CREDENTIALS.size:
            return _CREDENTIALS.unpack_from(data)[0]
    return 0


def send_with_descriptors(channel: socket.socket, message: Message, descriptors: list[int]) -> None:
    """One packet with open files, between two processes that trust each other."""
    channel.sendmsg([to_json(message)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])


def receive_with_descriptors(channel: socket.socket, most: int) -> tuple[Message, list[int]] | None:
    packet, descriptors, _, _ = socket.recv_fds(channel, _PACKET_BYTES, most)
    return (json.loads(packet), descriptors) if packet else None
