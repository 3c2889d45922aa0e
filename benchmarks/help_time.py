"""`partner --help` against a typer program with as many commands and no imports of its own."""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figure import Figure, in_turns, report

COMMANDS = 13


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(_bare_program())
        ours, bare_plain, bare_rich = in_turns(
            [
                lambda: _call([sys.executable, "-m", "partner", "--help"]),
                lambda: _call([sys.executable, str(bare), "plain", "--help"]),
                lambda: _call([sys.executable, str(bare), "rich", "--help"]),
            ],
            25,
        )
    report(
        "help_time",
        "The time of `partner --help`",
        [
            Figure(
                "partner --help",
                ours,
                f"a bare typer program, {COMMANDS} commands, plain help like ours",
                bare_plain,
                1.5,
            ),
            Figure("partner --help", ours, "the same as typer comes, with rich help", bare_rich, 1.5),
        ],
    )


def _bare_program() -> str:
    command = '@app.command()\ndef c{0}(run: str, json: bool = False):\n    """Do {0}."""\n'
    commands = "\n".join(command.format(number) for number in range(COMMANDS))
    return (
        "import sys, typer\n"
        "mode = None if sys.argv.pop(1) == 'plain' else 'rich'\n"
        f"app = typer.Typer(rich_markup_mode=mode)\n{commands}\napp()\n"
    )


def _call(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
