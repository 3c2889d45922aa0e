"""A cell as it goes into a sandbox, and as it comes out."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox.failure import Cause, Fault

MEBIBYTE = 1 << 20

CheckpointPolicy = Literal["auto", "on", "off"]
Output = dict[str, Any]  # Any: one output of a cell, in nbformat's shape


class Frozen(BaseModel):
    """What crosses a border is checked once and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(Frozen):
    """What a session may use. Memory, processes and cpus hold for the session, the rest for each cell."""

    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 120.0
    """How long a cell may run before it is interrupted."""
    memory_bytes: Annotated[int, Field(ge=64 * MEBIBYTE)] = 2048 * MEBIBYTE
    """Memory of its own that a session may use, beyond the libraries that all share."""
    processes: Annotated[int, Field(ge=8, le=4096)] = 128
    """Processes and threads at once."""
    open_files: Annotated[int, Field(ge=32, le=65_536)] = 512
    """Files that one process may have open."""
    file_bytes: Annotated[int, Field(ge=MEBIBYTE)] = 1024 * MEBIBYTE
    """The largest file that may be written."""
    disk_bytes: Annotated[int, Field(ge=MEBIBYTE)] = 4096 * MEBIBYTE
    """What the work directory and scratch files may take on disk together."""
    output_bytes: Annotated[int, Field(ge=1024, le=64 * MEBIBYTE)] = MEBIBYTE
    """How much of stdout, and of stderr, is captured; the rest is counted."""
    display_bytes: Annotated[int, Field(ge=1024, le=64 * MEBIBYTE)] = 16 * MEBIBYTE
    """How much a cell may display in all: figures, tables, results."""
    cpu_s: Annotated[float, Field(gt=0)] | None = None
    """Processor time of a cell and what it starts; none: the timeout is enough."""
    cpus: Annotated[float, Field(gt=0)] | None = None
    """Processors that a session may keep busy, where a control group can be made."""


class Cell(Frozen):
    """Code to run in a session."""

    code: Annotated[str, Field(max_length=4 * MEBIBYTE)]
    """IPython: Python, magics, top-level await."""
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] | None = None
    """Another time limit than the session's."""
    seed: Annotated[int, Field(ge=0, lt=1 << 64)] | None = None
    """Where random numbers start in this cell; none: they go on from the cell before."""
    checkpoint: CheckpointPolicy = "auto"
    """Whether a copy of the variables is left before the cell, to go back to when it has to be killed."""


class SessionSpec(Frozen):
    """What a session is asked to be."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$")]
    """Who asks for this name again gets the same session, with its variables."""
    work: Annotated[str, Field(max_length=3000)]
    """The one directory that cells see and write; an absolute path."""
    limits: Limits = Limits()
    seed: Annotated[int, Field(ge=0, lt=1 << 64)] = 0
    """Where `random` and numpy's global generator start."""
    disallowed_imports: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(max_length=200)] = ()
    """Libraries to refuse with a clear word. Hygiene, not a boundary."""


class SessionInfo(Frozen):
    """A live session, and the walls around it."""

    name: str
    work: str
    uid: int
    """The user that cells run as."""
    walls: dict[str, str]
    """Each wall and what it stands by, as tried out when the host started."""
    landlock_abi: int
    namespaces: bool
    memory_by: Literal["cgroup", "watchdog"]
    """Who stops a session above its memory limit."""
    limited_by_cgroup: tuple[str, ...]
    python: str
    cells: int
    """How many it has run."""
    idle_s: float
    is_busy: bool


class Captured(Frozen):
    """How much of an output was kept."""

    captured: int
    total: int
    truncated: bool


class CellError(Frozen):
    """The exception a cell ended with, as a notebook keeps it."""

    ename: str
    evalue: str
    traceback: tuple[str, ...]
    errno: int | None = None


class Touched(Frozen):
    """What a cell did with the files of its work directory, as relative paths."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    read: tuple[str, ...]
    """Files that were there before the cell and were read."""
    listed: tuple[str, ...]
    """Folders whose names were read; "." is the work directory itself."""
    missed: tuple[str, ...]
    """Paths that were looked for, or stand in the code, and were not there."""
    asked: tuple[str, ...]
    """What was there and the cell asked about, or whose path stands in its code; what it read is among them."""
    is_complete: bool
    """False when the cell was killed or events were dropped: then `read`, `listed`, `missed`, `asked` may lack some."""


class CellResult(Frozen):
    """How a cell ended, what it showed and what it touched."""

    ok: bool
    cause: Cause | None
    """Why it did not end well."""
    fault: Fault | None
    detail: str
    """The cause as a sentence."""
    error: CellError | None
    outputs: tuple[Output, ...]
    """In nbformat's shape and in order: stream, display_data, execute_result, error."""
    stdout: Captured
    stderr: Captured
    display: Captured
    touched: Touched
    state: Literal["kept", "restored", "lost"]
    """The session's variables: as the cell left them, as they were before it, or gone."""
    checkpoint: str
    """`on`, or `off` with the reason."""
    execution_count: int | None
    seconds: float
    killed_processes: int
    """Processes that the cell left behind and that were ended."""
    memory_bytes: int
    """The most memory seen, where a watchdog looks; 0 for short cells and under a control group."""

    def text(self, name: Literal["stdout", "stderr"]) -> str:
        """Everything captured of one stream."""
        return "".join(output["text"] for output in self.outputs if output.get("name") == name)


class HostStatus(Frozen):
    """A sandbox host that is up."""

    pid: int
    zygote: int
    up_s: float
    walls: dict[str, str]
    landlock_abi: int
    namespaces: bool
    namespaces_refused: str
    """Why there are none; empty when there are."""
    cgroup_version: int
    memory_by: Literal["cgroup", "watchdog"]
    python: str
    environment: str
    not_loaded: tuple[str, ...]
    """Libraries that should be there and could not be loaded."""
    sessions: tuple[SessionInfo, ...]
