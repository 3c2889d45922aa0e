"""Waiting for something only so long."""

import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


class TookTooLong(Exception):
    """The time is over; what was called may still be at work, and nobody waits for it any more."""


def within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """What the call gives or raises, if it does so in time."""
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # it is raised where it is waited for
            errors.append(error)

    worker = threading.Thread(target=work, name="within a time limit", daemon=True)
    worker.start()
    worker.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise TookTooLong
    return answers[0]
