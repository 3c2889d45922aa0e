"""Where a wall refuses what ordinary code does without need, ordinary code goes on."""

import functools
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec

P = ParamSpec("P")


def be_kind() -> None:
    """Copying a file copies its mode and times, and writing a workbook sets those of its parts; where they may not be
    set, the file stands without them."""
    shutil.copystat = _forgiving(shutil.copystat)
    shutil.copymode = _forgiving(shutil.copymode)
    os.utime = _forgiving_own(os.utime)


def _forgiving(act: Callable[P, None]) -> Callable[P, None]:
    @functools.wraps(act)
    def attempt(*arguments: P.args, **options: P.kwargs) -> None:
        with suppress(PermissionError):
            act(*arguments, **options)

    return attempt


def _forgiving_own(act: Callable[..., None]) -> Callable[..., None]:
    """Only for the cell's own files: for any other the refusal stands."""

    @functools.wraps(act)
    def attempt(path: Any, *arguments: Any, **options: Any) -> None:  # Any: what os.utime takes
        try:
            act(path, *arguments, **options)
        except PermissionError:
            if not _is_own(path):
                raise

    return attempt


def _is_own(path: Any) -> bool:  # Any: likewise; a descriptor names no place
    if isinstance(path, int):
        return False
    real = os.path.realpath(os.fsdecode(path))
    return any(real.startswith(f"{own}/") for own in (os.getcwd(), os.environ["TMPDIR"]))
