"""partner run: a recipe from a question to its deliverables."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

from flows.errors import FlowError
from flows.request import Request, make_request
from flows.workshop import Workshop, open_for_work
from partner.cli.desk import Desk, Flags, desk, plain
from partner.cli.failure import FAILED, exit_code
from partner.cli.run_end import Ended, show_end, state_of
from partner.cli.run_screen import RunScreen
from partner.cli.screen import print_json, say
from partner.errors import PartnerError, Refused, ServerFailed, UsageError
from partner.launch import PrefectServer, client_settings, find_server, kept_up
from partner.launch.folder import ServerFolder
from partner.launch.workshop import make_workshop
from partner.settings import expanded
from recipes.errors import RecipeError
from recipes.recipe import Recipe
from run_record import RunId, RunRecordError
from run_record.plain_text import printable
from sandbox import NoSafeSandbox, SandboxError
from tasks.errors import TaskError

_NOTHING = "nothing was run"
_LEAST_FREE_BYTES = 16 << 20
_OURS = (PartnerError, RecipeError, SandboxError, RunRecordError, TaskError, FlowError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line."""

    recipe: str
    objective: str
    parameters: Sequence[str]
    files: Sequence[str]
    as_of: str | None
    seed: int
    sample: bool
    refresh: bool
    backend: Literal["auto", "docker", "jail"]


def run_recipe(flags: Flags, wish: Wish, *, as_json: bool, announce: int | None = None) -> None:
    here = desk(flags)
    screen = RunScreen(quiet=as_json, announce=announce)
    shop = make_workshop(here.settings, None if as_json else say, here.command, screen)
    try:
        request = _request(shop.catalog.find(wish.recipe), wish)
        server = _ready(here, lambda: shop.equip(request.documents).backend(), quiet=as_json)
    except _OURS as error:
        error.add_note(_NOTHING)
        raise
    error = None
    try:
        with screen, kept_up(server, here.settings.home, here.settings.prefect_idle_s):
            _run(request, server, here, lambda recipe_flow: _flow(recipe_flow, request, shop))
    except KeyboardInterrupt:
        if screen.run_id:
            say(f"what was done is kept: {here.command} show {screen.run_id}   run it again to go on from there")
        raise
    except _OURS as raised:
        error = raised
    except Exception as raised:
        error = _explained(raised, here, screen.run_id, server)
    if not screen.run_id:
        raise error or ServerFailed("the flow ended before it opened a run", "see its log in the Prefect UI")
    ended = Ended(RunId(screen.run_id), error, server.page(screen.flow_run_id), screen.seconds)
    show_end(here, ended, as_json=as_json)
    if error is not None:
        sys.exit(exit_code(error))


def run_detached(flags: Flags, wish: Wish, *, as_json: bool) -> None:
    """The same in a process of its own, which goes on when this one has said the run's id."""
    here = desk(flags)
    folder = here.settings.home / "detached"
    folder.mkdir(parents=True, exist_ok=True)
    told, tell = os.pipe()
    log = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"
    command = [
        sys.executable,
        "-m",
        "partner",
        "--home",
        str(here.settings.home),
        "run",
        f"--announce={tell}",
        *(["--json"] if as_json else []),
        *_arguments(wish),
    ]
    answer = log.with_suffix(".json")
    with open(log, "wb") as said, open(answer, "wb") if as_json else nullcontext(said) as output:
        process = subprocess.Popen(  # noqa: S603  (our own interpreter and module)
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=said,
            pass_fds=[tell],
            start_new_session=True,
        )
    os.close(tell)
    with open(told) as pipe:
        run_id = pipe.readline().strip()
    if not run_id:  # it ended before it opened a run, and has said why
        status = process.wait()
        sys.stderr.write(log.read_text(errors="replace"))
        if as_json:
            sys.stdout.write(answer.read_text(errors="replace"))
        for told_already in (log, answer):
            told_already.unlink(missing_ok=True)
        sys.exit(status or FAILED)
    if as_json:
        print_json({"run_id": run_id})
    else:
        print(run_id)
        say(f"it goes on by itself   {here.command} show {run_id}   what it says: {log}")


def _arguments(wish: Wish) -> list[str]:
    """The wish as it would be written on a command line."""
    given = [f"--objective={wish.objective}", f"--seed={wish.seed}", f"--backend={wish.backend}"]
    given += [f"--param={each}" for each in wish.parameters] + [f"--file={each}" for each in wish.files]
    given += [f"--as-of={wish.as_of}"] if wish.as_of else []
    given += [flag for flag, is_on in (("--sample", wish.sample), ("--refresh", wish.refresh)) if is_on]
    return [*given, "--", wish.recipe]


def _request(recipe: Recipe, wish: Wish) -> Request:
    if wish.backend == "docker":
        raise NoSafeSandbox("there is no Docker backend in this version", "leave --backend out, or say --backend jail")
    files = _pairs(wish.files, "--file", "data=sales.csv")
    for name in (name for name, path in files.items() if not path):
        raise UsageError(f"--file {printable(name)}= names no file", f"--file {printable(name)}=PATH")
    return make_request(
        recipe,
        objective=plain(wish.objective, "objective"),
        parameters=_pairs(wish.parameters, "--param", "top_n=5"),
        files={name: expanded(f"input {name}", Path(path)) for name, path in files.items()},
        as_of=wish.as_of,
        seed=wish.seed,
        is_sample=wish.sample,
        is_refreshing=wish.refresh,
    )


def _pairs(given: Sequence[str], option: str, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for each in given:
        name, equals, value = plain(each, option).partition("=")
        if not equals or not name:
            raise UsageError(
                f"{option} {printable(each[:80])} has no name and value", f"for example {option} {example}"
            )
        if name in pairs:
            raise UsageError(f"{option} gives {printable(name)} twice", "give it once")
        pairs[name] = value
    return pairs


def _ready(here: Desk, backend: Callable[[], Any], *, quiet: bool) -> PrefectServer:  # Any: start() is no Backend's
    """A sandbox that is safe and a server that answers, both before anything is done; started side by side."""
    problems: list[BaseException] = []

    def start_sandbox() -> None:
        try:
            backend().start()
        except BaseException as error:  # raised below, where it is waited for
            problems.append(error)

    starting = threading.Thread(target=start_sandbox, name="sandbox", daemon=True)
    starting.start()
    server = find_server(here.settings.home, here.settings.prefect_idle_s, None if quiet else say)
    starting.join()
    if problems:
        raise problems[0]
    return server


def _run(request: Request, server: PrefectServer, here: Desk, call: Callable[[Any], None]) -> None:  # Any: a function
    """Prefect reads the environment when it is imported: the server is named there first."""
    ServerFolder(here.settings.home).make()  # where Prefect keeps things also when the server is another
    os.environ.update(client_settings(server, here.settings.home))
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    from flows.recipe_flow import recipe_flow

    # Heartbeats tell a server of workers that died; waiting for their thread costs a second at the end of every run.
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        call(recipe_flow(request.recipe))


def _flow(flow: Callable[..., object], request: Request, shop: Workshop) -> None:
    by_file = {each.file: name for name, each in request.recipe.inputs.items()}
    with open_for_work(shop):
        flow(
            objective=request.objective,
            parameters=request.parameters,
            files={by_file[file]: str(path.absolute()) for file, path in request.files.items()},
            as_of=date.fromisoformat(request.as_of),
            seed=request.seed,
            sample=request.is_sample,
            refresh=request.is_refreshing,
        )


def _explained(error: Exception, here: Desk, run_id: str, server: PrefectServer) -> PartnerError | None:
    """What Prefect, or the way to its server, has raised; a run that is done by then is done."""
    import httpx
    from prefect.exceptions import CancelledRun, PrefectException

    if isinstance(error, CancelledRun):
        return Refused("cancelled", "the run was cancelled in the Prefect UI", "what it did so far is kept")
    is_gone = isinstance(error, RuntimeError) and str(error).startswith("Failed to reach API")
    if not is_gone and not isinstance(error, httpx.HTTPError | PrefectException):
        raise error
    why = printable(f"{type(error).__name__}: {error}".splitlines()[0][:300])
    if run_id and state_of(here, RunId(run_id)).name == "done":
        say(f"note: the run is complete; Prefect's server could not be told: {why}")
        return None
    home = here.settings.home
    is_full = server.is_ours and home.is_dir() and shutil.disk_usage(home).free < _LEAST_FREE_BYTES
    remedy = f"the disk of {home} is full: make room on it" if is_full else "`partner doctor` shows its state"
    return ServerFailed(f"Prefect's server at {server.api_url} failed: {why}", remedy)
