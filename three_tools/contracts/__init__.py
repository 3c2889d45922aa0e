"""The wire format of the six tool calls."""

from three_tools.contracts.browser_search import BrowserSearchArgs, BrowserSearchResult, SearchResult
from three_tools.contracts.sandbox_exec import (
    Display,
    FileIn,
    FileOut,
    ImageDisplay,
    JsonDisplay,
    SandboxExecArgs,
    SandboxExecResult,
    TableDisplay,
    TextDisplay,
)
from three_tools.contracts.tmp_files import (
    TmpDeleteArgs,
    TmpDeleteResult,
    TmpListArgs,
    TmpListedFile,
    TmpListResult,
    TmpReadArgs,
    TmpReadResult,
    TmpWriteArgs,
    TmpWriteResult,
)
from three_tools.contracts.wire import Wire

CONTRACTS: dict[str, tuple[type[Wire], type[Wire]]] = {
    "sandbox.exec": (SandboxExecArgs, SandboxExecResult),
    "browser.search": (BrowserSearchArgs, BrowserSearchResult),
    "tmp.write": (TmpWriteArgs, TmpWriteResult),
    "tmp.read": (TmpReadArgs, TmpReadResult),
    "tmp.list": (TmpListArgs, TmpListResult),
    "tmp.delete": (TmpDeleteArgs, TmpDeleteResult),
}
"""Each tool's arguments and result."""

__all__ = [
    "CONTRACTS",
    "BrowserSearchArgs",
    "BrowserSearchResult",
    "Display",
    "FileIn",
    "FileOut",
    "ImageDisplay",
    "JsonDisplay",
    "SandboxExecArgs",
    "SandboxExecResult",
    "SearchResult",
    "TableDisplay",
    "TextDisplay",
    "TmpDeleteArgs",
    "TmpDeleteResult",
    "TmpListArgs",
    "TmpListResult",
    "TmpListedFile",
    "TmpReadArgs",
    "TmpReadResult",
    "TmpWriteArgs",
    "TmpWriteResult",
    "Wire",
]
