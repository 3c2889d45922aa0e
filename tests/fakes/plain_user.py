"""Doing something as a user who is not root, whoever runs the tests."""

import multiprocessing
import os
from collections.abc import Callable

_NOBODY = 65534


def as_plain_user(act: Callable[[], None]) -> bool:
    """Whether an act succeeds, done in a process of its own by nobody in particular."""

    def drop_and_act() -> None:
        if os.geteuid() == 0:
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        act()

    child = multiprocessing.get_context("fork").Process(target=drop_and_act)
    child.start()
    child.join()
    return child.exitcode == 0
