"""partner doctor: one screen, worst first, each line with its remedy."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from partner import sandboxes
from partner.cli.desk import Flags, desk
from partner.cli.failure import FAILED
from partner.cli.sandboxes import memory_by
from partner.cli.screen import count, duration, mark, print_json, say, size
from partner.equipment import SEARCH_REMEDY, searches_the_web
from partner.errors import ServerFailed, UsageError
from partner.launch import find_server, server_state, unfit
from partner.settings import load_settings, unknown_variables
from run_record.beneath import has_openat2
from run_record.home import Home
from run_record.plain_text import printable
from sandbox.errors import SandboxError
from three_tools.search.folder_files import walk

Level = Literal["✗", "!", "✓"]
_LOW_DISK_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    level: Level
    subject: str
    text: str
    remedy: str = ""


def examine(flags: Flags, *, as_json: bool) -> None:
    findings = [*_settings(flags), *_machine(), *_sandbox(flags), *_search(flags), *_prefect(flags), *_versions()]
    findings.sort(key=lambda finding: "✗!✓".index(finding.level))
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            remedy = f"   → {finding.remedy}" if finding.remedy else ""
            print(f"{mark(finding.level)} {finding.subject:10} {printable(finding.text)}{printable(remedy)}")
    if findings[0].level == "✗":
        sys.exit(FAILED)


def _home(home: Home) -> Iterator[Finding]:
    root = home.root
    if not root.exists():
        parent = next(folder for folder in root.parents if folder.exists())
        if os.access(parent, os.W_OK):
            yield Finding("✓", "home", f"{root} will be made by the first run")
        else:
            yield Finding("✗", "home", f"{root} cannot be made", "name another with --home or PARTNER_HOME")
        return
    if not os.access(root, os.W_OK | os.X_OK):
        yield Finding(
            "✗", "home", f"{root} cannot be written", "change its owner, or name another with --home or PARTNER_HOME"
        )
        return
    objects = list(home.objects.sizes())
    held = f"{count(sum(1 for _ in home.run_ids()), 'run')}, {size(sum(objects))} in {count(len(objects), 'object')}"
    yield Finding("✓", "home", f"{root}  {held}")
    free = shutil.disk_usage(root).free
    if free < _LOW_DISK_BYTES:
        yield Finding(
            "!", "disk", f"{size(free)} left for {root}", "free some space: what does not fit is not recorded"
        )


def _machine() -> Iterator[Finding]:
    if has_openat2():
        yield Finding("✓", "paths", "opened beneath a run's tmp/ by openat2")
    else:
        yield Finding(
            "!",
            "paths",
            "no openat2 here: opened one folder at a time, as safe and slower",
            "Linux 5.6 or newer has it",
        )


def _sandbox(flags: Flags) -> Iterator[Finding]:
    """The walls are shown as a host found them by trying; one is started for it when none is up."""
    try:
        host = sandboxes.jail(load_settings(flags), say).start()
    except UsageError:
        return  # said already
    except SandboxError as error:
        yield Finding("✗", "sandbox", error.problem, error.remedy)
        return
    namespaces = "yes" if host.namespaces else f"no: {host.namespaces_refused}"
    built_of = f"Landlock {host.landlock_abi}, namespaces {namespaces}, memory by {memory_by(host)}"
    yield Finding("✓", "sandbox", f"jail: {', '.join(host.walls)} walled ({built_of})")
    if host.not_loaded:
        yield Finding(
            "!",
            "sandbox",
            f"cells cannot use {', '.join(host.not_loaded)}: a system library is missing",
            "run `sh setup/system-parts` as root, then `partner sandbox stop`",
        )
    yield Finding("✓", "host", f"pid {host.pid}, up {duration(host.up_s)}, {count(len(host.sessions), 'session')}")


def _search(flags: Flags) -> Iterator[Finding]:
    try:
        settings = load_settings(flags)
    except UsageError:
        return  # said already
    if searches_the_web(settings):
        if settings.tavily_api_key is None:
            yield Finding("✗", "search", "set to the web, and there is no key", SEARCH_REMEDY)
        else:
            yield Finding("✓", "search", "the web, by Tavily")
        return
    folder = settings.documents.expanduser().absolute()
    level: Level = "✓" if settings.search == "folder" else "!"
    why = "" if settings.search == "folder" else "no TAVILY_API_KEY: "
    try:
        documents = count(sum(1 for _ in walk(folder)), "document") if folder.is_dir() else ""
    except OSError as error:
        yield Finding(
            "✗", "search", f"{folder} cannot be read: {error.strerror}", "mend its mode, or name another folder"
        )
        return
    if documents:
        yield Finding(level, "search", f"{why}searching {documents} in {folder}")
    else:
        remedy = "make it, or set PARTNER_DOCUMENTS to another, or TAVILY_API_KEY to search the web"
        yield Finding("!", "search", f"{why}there is no folder of documents at {folder}", remedy)


def _prefect(flags: Flags) -> Iterator[Finding]:
    """No server is started for this."""
    try:
        settings = load_settings(flags)
    except UsageError:
        return  # said already
    for problem in unfit():
        yield Finding("✗", "prefect", problem, "make install")
    release = version("prefect")
    if os.environ.get("PREFECT_API_URL"):
        try:
            server = find_server(settings.home, settings.prefect_idle_s)
        except ServerFailed as error:
            yield Finding("✗", "prefect", error.problem, error.remedy)
        else:
            yield Finding("✓", "prefect", f"{release}, the server that PREFECT_API_URL names: {server.api_url}")
    elif state := server_state(settings.home):
        yield Finding("✓", "prefect", f"{release}, local server up {duration(state.up_s)}: {state.ui_url}")
    else:
        yield Finding("✓", "prefect", f"{release}, its local server starts with the first run")


def _settings(flags: Flags) -> Iterator[Finding]:
    try:
        home = desk(flags).home
    except UsageError as error:
        yield Finding("✗", "settings", error.problem, error.remedy)
    else:
        yield from _home(home)
    for name, meant in unknown_variables(os.environ):
        yield Finding(
            "!",
            "settings",
            f"{name} sets nothing",
            f"did you mean {meant}?" if meant else "`partner config` shows what can be set",
        )


def _versions() -> Iterator[Finding]:
    lock = Path(__file__).parents[2] / "requirements.lock"
    if not lock.is_file():
        yield Finding("!", "versions", "no requirements.lock beside the program: nothing to compare with")
        return
    wrong = [
        f"{name} {found or 'missing'}, locked {wanted}" for name, wanted, found in _locked(lock) if found != wanted
    ]
    if wrong:
        yield Finding(
            "✗",
            "versions",
            "; ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""),
            "make install",
        )
    else:
        yield Finding("✓", "versions", "locked set in place")


def _locked(lock: Path) -> Iterator[tuple[str, str, str]]:
    from packaging.markers import Marker

    for name, wanted, marker in re.findall(r"^([\w.-]+)==(\S+)( ;[^\\\n]*)?", lock.read_text(), re.MULTILINE):
        if not marker or Marker(marker.removeprefix(" ;")).evaluate():  # what is locked for others is not expected here
            try:
                yield name, wanted, version(name)
            except PackageNotFoundError:
                yield name, wanted, ""
