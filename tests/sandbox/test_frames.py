"""Messages between our processes: whole or not at all, and never from the wrong sender."""

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.frames import (
    JSON,
    STDOUT,
    FrameReader,
    PacketReader,
    TooLarge,
    encode,
    packet_pair,
    packets,
    receive_packets,
    send_packets,
)

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(st.tuples(st.sampled_from([JSON, STDOUT]), st.binary(max_size=200))), st.integers(1, 50))
def test_frames_arrive_whole_however_they_are_cut(frames: list[tuple[bytes, bytes]], cut: int) -> None:
    """A stream may break anywhere: what is read is what was written, frame by frame."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        data = b"".join(encode(kind, body) for kind, body in frames)
        reader, read = FrameReader(theirs, 1000), []
        for start in range(0, len(data), cut):
            ours.sendall(data[start : start + cut])
        ours.shutdown(socket.SHUT_WR)
        while (frame := reader.read()) is not None:
            read.append(frame)
        assert read == frames


@given(st.dictionaries(st.text(), TREES))
def test_messages_survive_packets(message: dict[str, object]) -> None:
    """What is sent as packets is received as it was, and the sender is who it was."""
    ours, theirs = packet_pair()
    with ours, theirs:
        send_packets(theirs, message)
        reader = PacketReader(ours, 1 << 20)
        assert reader.read() == (os.getpid(), message)
        send_packets(ours, message)
        assert receive_packets(theirs) == message


def test_a_large_message_is_cut_and_joined() -> None:
    """Larger than a packet, a message takes several, and the last one completes it."""
    message = {"x": "y" * 200_000}
    assert len(list(packets(message))) == 4
    ours, theirs = packet_pair()
    with ours, theirs:
        reader = PacketReader(ours, 1 << 20)
        for packet in packets(message):
            assert reader.read() is None
            theirs.send(packet)
            received = reader.read()
        assert received == (os.getpid(), message)


def test_what_is_too_large_is_refused() -> None:
    """Neither a stream nor packets make a reader hold more than it takes."""
    ours, theirs = packet_pair()
    with ours, theirs:
        reader = PacketReader(ours, 1000)
        theirs.send(b"+" + b"x" * 2000)
        with pytest.raises(TooLarge):
            reader.read()
    one, other = socket.socketpair()
    with one, other:
        one.sendall(encode(JSON, b"x" * 2000))
        with pytest.raises(TooLarge):
            FrameReader(other, 1000).read()


def test_descriptors_that_come_along_are_dropped() -> None:
    """Whoever sends open files to a reader of packets does not open anything there."""
    ours, theirs = packet_pair()
    with ours, theirs:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            socket.send_fds(theirs, [b".{}"], [0, 1, 2])
            PacketReader(ours, 1000).read()
        assert len(os.listdir("/proc/self/fd")) == before
