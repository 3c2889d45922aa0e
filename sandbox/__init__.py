"""Where cells run: code goes in, a result comes out. It knows nothing of tools, records or recipes."""

from sandbox.backend import Backend, OnOutput, Session
from sandbox.cell import (
    Captured,
    Cell,
    CellError,
    CellResult,
    CheckpointPolicy,
    HostStatus,
    Limits,
    Output,
    SessionInfo,
    SessionSpec,
    Touched,
)
from sandbox.errors import (
    HostIsGone,
    NoSafeSandbox,
    SandboxCallerError,
    SandboxError,
    SandboxFailed,
    SessionIsBusy,
    SessionIsGone,
    UnfitWorkDirectory,
)
from sandbox.host_link import HostSettings
from sandbox.local_jail import JailSession, LocalJail

__all__ = [
    "Backend",
    "Captured",
    "Cell",
    "CellError",
    "CellResult",
    "CheckpointPolicy",
    "HostIsGone",
    "HostSettings",
    "HostStatus",
    "JailSession",
    "Limits",
    "LocalJail",
    "NoSafeSandbox",
    "OnOutput",
    "Output",
    "SandboxCallerError",
    "SandboxError",
    "SandboxFailed",
    "Session",
    "SessionInfo",
    "SessionIsBusy",
    "SessionIsGone",
    "SessionSpec",
    "Touched",
    "UnfitWorkDirectory",
]
