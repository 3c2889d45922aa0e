"""The `partner` command."""

import os
import sys
from io import TextIOWrapper


def main() -> None:
    from partner.cli.app import run

    _make_streams_usable()
    sys.exit(run(sys.argv[1:]))


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
