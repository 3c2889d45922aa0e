"""The `partner` command."""

import os
import signal
import sys
from io import TextIOWrapper
from typing import NoReturn

_INTERRUPTED = 130


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)
    try:
        from partner.cli.app import run

        _make_streams_usable()
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:  # before any command had begun
        sys.exit(_INTERRUPTED)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    """However we are asked to stop, we stop as at a Ctrl-C: with what was done in the record."""
    raise KeyboardInterrupt


def _make_streams_usable() -> None:
    """A closed stream is /dev/null to us, and a character that an old encoding lacks is spelt out."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  (open as long as we live)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
