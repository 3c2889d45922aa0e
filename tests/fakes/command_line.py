"""The `partner` command, called in this process as a shell would call it."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from partner.cli.app import run


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def partner(*arguments: str | Path, stdin: bytes = b"") -> Answer:
    """Run a command."""
    out, err = io.BytesIO(), io.StringIO()
    stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    with (
        redirect_stdout(stdout),
        redirect_stderr(err),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")),
    ):
        code = run([str(argument) for argument in arguments])
    return Answer(code, out.getvalue(), err.getvalue())
