"""A session runs one cell at a time, and looking at it takes no cell's turn away."""

import threading

from sandbox.host.turn import Turn


def test_a_second_cell_is_told_that_one_is_running() -> None:
    """It does not wait for it."""
    turn = Turn()
    assert turn.take_for_cell()
    assert not turn.take_for_cell()
    turn.end()
    assert turn.take_for_cell()


def test_a_cell_waits_for_who_only_looks() -> None:
    """The sweep that looks for idle sessions is no cell: a cell that meets it runs."""
    turn = Turn()
    assert turn.take()
    threading.Timer(0.2, turn.end).start()
    assert turn.take_for_cell()
    assert turn.is_cell


def test_who_looks_does_not_wait_for_a_cell() -> None:
    """The sweep leaves a session alone that is at work."""
    turn = Turn()
    turn.take_for_cell()
    assert not turn.take()
