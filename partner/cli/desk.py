"""What every command begins with: the settings, the home, the run that is meant."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partner.errors import UsageError
from partner.settings import Settings, load_settings
from run_record.clock import Clock, system_clock
from run_record.home import Home
from run_record.ids import RunId
from run_record.journal import Reading, read_journal
from run_record.plain_text import printable
from run_record.state import RunState

Flags = Mapping[str, Any]  # Any: what typer parsed; pydantic checks it


@dataclass(frozen=True, slots=True)
class Desk:
    """The settings and the home they name."""

    settings: Settings
    home: Home
    command: str
    """How this home is named on the command line: what we advise can be pasted."""


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as its journal has it, without touching anything."""

    run_id: RunId
    folder: Path
    reading: Reading
    state: RunState


def desk(flags: Flags, clock: Clock = system_clock) -> Desk:
    settings = load_settings(flags)
    named = f" --home {shlex.quote(str(settings.home))}" if flags.get("home") else ""
    return Desk(settings, Home(settings.home, clock), f"partner{named}")


def plain(text: str, what: str) -> str:
    """The text, if it is text: arguments that are not UTF-8 come with their bytes spelt as surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the {what} '{printable(text[:80])}' is not UTF-8", "give it in UTF-8") from None
    return text


def view(home: Home, name: str) -> RunView:
    """Look at the run that is meant."""
    run_id = home.find(name)
    folder = home.folder(run_id)
    reading = read_journal(folder)
    return RunView(run_id, folder, reading, RunState(reading.entries))
