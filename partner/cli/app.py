"""Every command, its options and its help; what a command does is imported when it is called."""

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(name="partner", no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
files = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="List, read, write and delete a run's files.")
app.add_typer(files, name="files")
sandbox = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Try cells by hand; see what walls them in.")
app.add_typer(sandbox, name="sandbox")

_RECIPE = """Make a recipe of your own, and check it.

\b
partner recipe new churn-report
partner recipe check churn-report"""
recipe = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=_RECIPE)
app.add_typer(recipe, name="recipe")
_TYPER_INTERRUPTED = 130  # what typer makes of a KeyboardInterrupt


def _complete_run(ctx: typer.Context, incomplete: str) -> list[str]:
    from partner.cli.runs import completions

    try:
        return completions(ctx.find_root().params, incomplete)
    except Exception:
        return []  # pressing Tab is no place for an error; the command itself will say it


def _complete_recipe(ctx: typer.Context, incomplete: str) -> list[str]:
    from partner.cli.recipes import completions

    try:
        return completions(ctx.find_root().params, incomplete)
    except Exception:
        return []  # likewise


Run = Annotated[
    str,
    typer.Argument(help="A run's id, the beginning of one, or 'latest'.", autocompletion=_complete_run, metavar="RUN"),
]
FilePath = Annotated[str, typer.Argument(help="A file, relative to the run's tmp/.")]
RecipeName = Annotated[
    str, typer.Argument(help="A recipe's name, or its folder.", autocompletion=_complete_recipe, metavar="RECIPE")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]


@app.callback()
def partner(
    ctx: typer.Context,
    home: Annotated[
        Path | None, typer.Option(help="Where runs live, instead of PARTNER_HOME.", metavar="FOLDER")
    ] = None,
) -> None:
    """Decision packs whose every step can be audited.

    \b
    partner run quick-look --sample
    partner show latest
    """
    ctx.obj = {"home": home}


@app.command("open")
def open_(
    ctx: typer.Context,
    objective: Annotated[str, typer.Option(help="The question the run answers.", metavar="TEXT")] = "",
    json: Json = False,
) -> None:
    """Open a run and print its id.

    \b
    partner open --objective "Which channels should we cut?"
    run=$(partner open)
    """
    from partner.cli import runs

    runs.open_run(ctx.obj, objective, as_json=json)


@app.command("runs")
def runs_(ctx: typer.Context, json: Json = False) -> None:
    """List the runs, newest first.

    \b
    partner runs
    partner runs --json | jq -r '.runs[].run_id'
    """
    from partner.cli import runs

    runs.list_runs(ctx.obj, as_json=json)


@app.command()
def show(ctx: typer.Context, run: Run, json: Json = False) -> None:
    """Show a run: what was asked, its steps with their verdicts, its files.

    \b
    partner show latest
    partner show 7qk2 --json
    """
    from partner.cli import runs

    runs.show(ctx.obj, run, as_json=json)


@app.command()
def cel(
    ctx: typer.Context,
    run: Run,
    at: Annotated[int | None, typer.Option(help="As it stood after this step.", metavar="STEP", min=1)] = None,
    code: Annotated[bool, typer.Option("--code", help="Only its cells, as a program that runs them again.")] = False,
    json: Json = False,
) -> None:
    """Print a run's Context Engineering Log.

    \b
    partner cel latest
    partner cel 7qk2 --at 3
    """
    from partner.cli import runs

    runs.show_cel(ctx.obj, run, at, only_code=code, as_json=json)


@app.command()
def note(
    ctx: typer.Context,
    run: Run,
    text: Annotated[str, typer.Argument(help="What to note; '-' reads it from stdin.")],
    json: Json = False,
) -> None:
    """Add a note to a run's record, also while it runs and after it closed.

    \b
    partner note latest "Finance confirmed the budget."
    partner note 7qk2 - <minutes.txt
    """
    from partner.cli import runs

    runs.add_note(ctx.obj, run, text, as_json=json)


@app.command("exec")
def exec_(
    ctx: typer.Context,
    run: Run,
    code: Annotated[str | None, typer.Option(help="The cell.", metavar="CODE")] = None,
    file: Annotated[Path | None, typer.Option(help="A file with the cell; '-' is stdin.", metavar="FILE")] = None,
    timeout_s: Annotated[float | None, typer.Option(help="How long it may run.", min=0.1, max=86_400)] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="In a new session: no variables, and the limits as they are set now.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a cell in a run's sandbox session; variables stay for the next one.

    \b
    partner exec latest --code 'import pandas as pd; pd.read_csv("leads.csv").describe()'
    partner exec 7qk2 --file kpis.py --timeout-s 60
    """
    from partner.cli import tools

    arguments: dict[str, object] = {"code": tools.source(code, file)}
    arguments |= {} if timeout_s is None else {"timeout_s": timeout_s}
    tools.exec_cell(ctx.obj, run, arguments, is_fresh=fresh, as_json=json)


@app.command("run")
def run_(
    ctx: typer.Context,
    recipe: RecipeName,
    objective: Annotated[str, typer.Option(help="The question; without it, the recipe's own.", metavar="TEXT")] = "",
    param: Annotated[list[str] | None, typer.Option(help="A parameter; may be given again.", metavar="K=V")] = None,
    file: Annotated[list[str] | None, typer.Option(help="An input; may be given again.", metavar="NAME=PATH")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="On the recipe's own sample data and documents.")] = False,
    as_of: Annotated[str | None, typer.Option(help="What the run takes for today.", metavar="DATE")] = None,
    seed: Annotated[int, typer.Option(help="Where random numbers start.")] = 0,
    refresh: Annotated[bool, typer.Option("--refresh", help="Run every step, whatever is in the cache.")] = False,
    backend: Annotated[Literal["auto", "docker", "jail"], typer.Option(help="What cells are walled in by.")] = "auto",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow it, or leave it running and go.")] = True,
    announce: Annotated[int | None, typer.Option(hidden=True)] = None,
    json: Json = False,
) -> None:
    """Run a recipe: from a question and data to its deliverables.

    \b
    partner run quick-look --sample
    partner run quick-look --file data=sales.csv --param top_n=5
    """
    from partner.cli import run

    wish = run.Wish(
        recipe=recipe,
        objective=objective,
        parameters=param or [],
        files=file or [],
        as_of=as_of,
        seed=seed,
        sample=sample,
        refresh=refresh,
        backend=backend,
    )
    if wait:
        run.run_recipe(ctx.obj, wish, as_json=json, announce=announce)
    else:
        run.run_detached(ctx.obj, wish, as_json=json)


@app.command("search")
def search_(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="The words to look for.")],
    run: Annotated[
        str | None, typer.Option(help="The run to record it in; without one, a run of its own.", metavar="RUN")
    ] = None,
    top_k: Annotated[int, typer.Option(help="How many results at most.", min=1, max=20)] = 5,
    include_page: Annotated[bool, typer.Option("--include-page", help="Bring each page's text too.")] = False,
    domain: Annotated[list[str] | None, typer.Option(help="Only this domain; may be given again.")] = None,
    date_range: Annotated[
        str | None, typer.Option(help="Published when: week, 30d, 2026-01-01..2026-06-30.", metavar="RANGE")
    ] = None,
    json: Json = False,
) -> None:
    """Search the web, or your own documents where there is no key, and keep the citations.

    \b
    partner search "heat pump sales 2026" --run latest
    partner search "churn" --domain acme.example --date-range 30d --json
    """
    from partner.cli import tools

    options: dict[str, object] = {"top_k": top_k, "include_page": include_page, "allow_domains": domain or []}
    options |= {"date_range": date_range} if date_range else {}
    tools.search(ctx.obj, query, run, options, as_json=json)


@app.command("tools")
def tools_(
    ctx: typer.Context,
    profile: Annotated[str, typer.Option(help="Whose view: primary, mcp-client, evaluator, …")] = "primary",
    json: Json = False,
) -> None:
    """Show the tools, and who may see and run them.

    \b
    partner tools
    partner tools --profile memory-agent --json
    """
    from partner.cli import tools

    tools.list_tools(ctx.obj, profile, as_json=json)


@app.command()
def close(
    ctx: typer.Context,
    run: Run,
    state: Annotated[Literal["done", "failed", "cancelled"], typer.Option(help="How it ended.")] = "done",
    reason: Annotated[str, typer.Option(help="Why, when it did not end well.", metavar="TEXT")] = "",
    json: Json = False,
) -> None:
    """Close a run: its summary and index are written, and only notes can follow.

    \b
    partner close latest
    partner close 7qk2 --state cancelled --reason "the question changed"
    """
    from partner.cli import runs

    runs.close_run(ctx.obj, run, state, reason, as_json=json)


@app.command()
def verify(ctx: typer.Context, run: Run, json: Json = False) -> None:
    """Hash everything a run's record vouches for again, and say what is damaged.

    \b
    partner verify latest
    partner verify 7qk2 --json
    """
    from partner.cli import verify as verification

    verification.verify_run(ctx.obj, run, as_json=json)


@app.command("recipes")
def recipes_(ctx: typer.Context, json: Json = False) -> None:
    """List the recipes: the standard ones, and yours.

    \b
    partner recipes
    PARTNER_RECIPES=~/recipes partner recipes --json
    """
    from partner.cli import recipes

    recipes.list_recipes(ctx.obj, as_json=json)


@recipe.command("new")
def recipe_new(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Small letters, digits and dashes.")],
    folder: Annotated[
        Path | None, typer.Option(help="Put it in here, instead of the first folder of PARTNER_RECIPES.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a recipe that runs as it is, to be changed.

    \b
    partner recipe new churn-report
    partner recipe new churn-report --folder ~/recipes
    """
    from partner.cli import recipes

    recipes.make_recipe(ctx.obj, name, folder, as_json=json)


@recipe.command("check")
def recipe_check(ctx: typer.Context, name: RecipeName, json: Json = False) -> None:
    """Check all of a recipe that can be checked without running it.

    \b
    partner recipe check churn-report
    partner recipe check ./churn-report --json
    """
    from partner.cli import recipes

    recipes.check_recipe(ctx.obj, name, as_json=json)


@app.command("config")
def config_(ctx: typer.Context, json: Json = False) -> None:
    """Show each setting's value and where it comes from.

    \b
    partner config
    PARTNER_HOME=/srv/partner partner config --json
    """
    from partner.cli import config

    config.show_config(ctx.obj, as_json=json)


@app.command("doctor")
def doctor_(ctx: typer.Context, json: Json = False) -> None:
    """Check this machine and this home, worst news first.

    \b
    partner doctor
    partner doctor --json
    """
    from partner.cli import doctor

    doctor.examine(ctx.obj, as_json=json)


@files.command("ls")
def files_ls(
    ctx: typer.Context,
    run: Run,
    prefix: Annotated[str, typer.Argument(help="Only paths that begin so.")] = "",
    json: Json = False,
) -> None:
    """List a run's files.

    \b
    partner files ls latest
    partner files ls 7qk2 artifacts/
    """
    from partner.cli import files as file_commands

    file_commands.list_files(ctx.obj, run, prefix, as_json=json)


@files.command("read")
def files_read(ctx: typer.Context, run: Run, path: FilePath, json: Json = False) -> None:
    """Give a file's bytes on stdout.

    \b
    partner files read latest facts.json | jq .
    partner files read 7qk2 artifacts/deck.pptx >deck.pptx
    """
    from partner.cli import files as file_commands

    file_commands.read_file(ctx.obj, run, path, as_json=json)


@files.command("write")
def files_write(ctx: typer.Context, run: Run, path: FilePath, json: Json = False) -> None:
    """Write a file from stdin.

    \b
    partner files write latest leads.csv <leads.csv
    curl -s https://intranet.example/spend.csv | partner files write 7qk2 spend.csv
    """
    from partner.cli import files as file_commands

    file_commands.write_file(ctx.obj, run, path, as_json=json)


@files.command("rm")
def files_rm(
    ctx: typer.Context,
    run: Run,
    path: FilePath,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, even on a terminal.")] = False,
    json: Json = False,
) -> None:
    """Delete a file; the record keeps what it held.

    \b
    partner files rm latest draft.csv
    partner files rm 7qk2 draft.csv --yes
    """
    from partner.cli import files as file_commands

    file_commands.delete_file(ctx.obj, run, path, is_sure=yes, as_json=json)


@sandbox.command("shell")
def sandbox_shell(
    ctx: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Option(help="Work in this folder, which cells then own; without it, in one that is removed at the end."),
    ] = None,
    code: Annotated[str | None, typer.Option(help="Run this one cell.", metavar="CODE")] = None,
    timeout_s: Annotated[float | None, typer.Option(help="How long a cell may run.", min=0.1, max=86_400)] = None,
    json: Json = False,
) -> None:
    """Run cells in a sandbox session, from the keyboard, from a pipe or from --code.

    \b
    partner sandbox shell
    partner sandbox shell --code 'import pandas as pd; pd.Series([1, 2, 3]).describe()'
    """
    from partner.cli import sandboxes

    sandboxes.shell(ctx.obj, folder, code, timeout_s, as_json=json)


@sandbox.command("status")
def sandbox_status(ctx: typer.Context, json: Json = False) -> None:
    """Show the sandbox host, the walls it found to hold, and its sessions.

    \b
    partner sandbox status
    partner sandbox status --json | jq .walls
    """
    from partner.cli import sandboxes

    sandboxes.status(ctx.obj, as_json=json)


@sandbox.command("stop")
def sandbox_stop(ctx: typer.Context, json: Json = False) -> None:
    """End the sandbox host and its sessions; their variables are lost, their files stay.

    \b
    partner sandbox stop
    partner sandbox stop --json
    """
    from partner.cli import sandboxes

    sandboxes.stop(ctx.obj, as_json=json)


def run(arguments: list[str]) -> int:
    """Run a command and give its exit code."""
    try:
        code: object = app(arguments, prog_name="partner", standalone_mode=False)
        if code == _TYPER_INTERRUPTED:
            return _report(KeyboardInterrupt(), arguments)
    except SystemExit as end:
        code = end.code
    except (Exception, KeyboardInterrupt) as error:
        return _report(error, arguments)
    return code if isinstance(code, int) else 0


def _report(error: BaseException, arguments: list[str]) -> int:
    from partner.cli.failure import report

    return report(error, as_json="--json" in arguments)
