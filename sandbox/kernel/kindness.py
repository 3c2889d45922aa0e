"""Where a wall refuses what ordinary code does without need, ordinary code goes on."""

import functools
import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec

P = ParamSpec("P")


def be_kind() -> None:
    """Copying a file copies its mode and times; where those may not be set, the copy stands without them."""
    shutil.copystat = _forgiving(shutil.copystat)
    shutil.copymode = _forgiving(shutil.copymode)


def _forgiving(act: Callable[P, None]) -> Callable[P, None]:
    @functools.wraps(act)
    def attempt(*arguments: P.args, **options: P.kwargs) -> None:
        with suppress(PermissionError):
            act(*arguments, **options)

    return attempt
