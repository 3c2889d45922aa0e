"""IPython's shell, with its displays, results and tracebacks handed on instead of printed."""
# IPython is hardly typed, and numpy is only in the sandbox's environment.
# pyright: basic, reportMissingImports=false

import base64
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, cast

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import activate_matplotlib
from matplotlib_inline.backend_inline import configure_inline_support
from traitlets.config import Config

from sandbox.kernel.tables import TABLE_MIME, TableFormatter

Bundle = dict[str, Any]  # Any: JSON, by media type
Report = Callable[[str, dict[str, Any]], None]

_INLINE = "module://matplotlib_inline.backend_inline"
_CACHED_RESULTS = 100
_MOST_TEXT = 20_000
_MOST_LINES = 200


def _ignore(_kind: str, _content: dict[str, Any]) -> None:
    """Before a kernel has its socket there is nobody to tell."""


class CellShell(InteractiveShell):
    """Runs cells; what they show goes to `report`, what they raise is kept in `traceback_lines`."""

    report: Report = staticmethod(_ignore)
    traceback_lines: list[str]

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: list[str]) -> None:  # noqa: ARG002
        self.traceback_lines = stb

    def enable_gui(self, gui: object = None) -> None:
        """There is no window to wait for: `%matplotlib inline` is how it is anyway."""

    def ask_exit(self) -> None:
        """`exit` in a cell: the session is its caller's to close."""
        print("a cell cannot end its session")


class _Publisher(DisplayPublisher):
    """display(…) and figures."""

    def publish(self, data: Bundle, metadata: Bundle | None = None, **_options: object) -> None:
        _shell(self).report("display_data", {"data": as_json(data), "metadata": metadata or {}})

    def clear_output(self, wait: bool = False) -> None:
        """Outputs are a record: what was shown stays."""


class _Results(DisplayHook):
    """The value of a cell's last expression."""

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Bundle, md_dict: Bundle | None = None) -> None:
        content = {"data": as_json(format_dict), "metadata": md_dict or {}, "execution_count": self.prompt_count}
        _shell(self).report("execute_result", content)

    def log_output(self, format_dict: Bundle) -> None:
        """What was shown is not kept a second time."""

    def finish_displayhook(self) -> None:
        self._is_active = False

    def cull_cache(self) -> None:
        """The oldest results go without a word: IPython's warning would be the cell's output."""
        with warnings.catch_warnings(action="ignore"):
            super().cull_cache()


def _shell(part: DisplayPublisher | DisplayHook) -> CellShell:
    return cast("CellShell", part.shell)


def make_shell() -> CellShell:
    """A shell that has run nothing. One is made in the zygote, and every kernel is a copy of it."""
    config = Config()
    config.HistoryManager.enabled = False  # it would keep a database, and a thread
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Plain"
    config.InteractiveShell.cache_size = _CACHED_RESULTS
    shell = CellShell.instance(config=config, displayhook_class=_Results, display_pub_class=_Publisher)
    shell.traceback_lines = []
    shell.system = shell.system_raw  # other ways want a terminal
    formatter = cast("DisplayFormatter", shell.display_formatter)
    formatter.formatters[TABLE_MIME] = TableFormatter(parent=formatter)
    warnings.filterwarnings("ignore", message="To exit: use")  # of no use to a cell that calls sys.exit
    activate_matplotlib(_INLINE)
    configure_inline_support(shell, _INLINE)
    return shell


def describe(shell: CellShell, error: BaseException) -> dict[str, Any]:
    """An error as a notebook keeps it, and its number where the system gave one."""
    lines = shell.traceback_lines
    if not lines:
        lines = traceback.format_exception(error)
    return {
        "ename": type(error).__name__,
        "evalue": _safe_str(error)[:_MOST_TEXT],
        "traceback": [str(line)[:_MOST_TEXT] for line in lines[-_MOST_LINES:]],
        "errno": number if isinstance(number := getattr(error, "errno", None), int) else None,
    }


def as_json(bundle: Bundle) -> Bundle:
    return {
        mime: base64.b64encode(value).decode() if isinstance(value, bytes) else value for mime, value in bundle.items()
    }


def close_figures() -> None:
    """The figures that pyplot keeps end with their cell, whatever draws them: a later cell has those in variables."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def flush() -> None:
    """Hand on what was printed, so that it stands before what comes next."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # a cell may have closed or replaced it


def _safe_str(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:
        return f"<its text failed: {type(second).__name__}>"
