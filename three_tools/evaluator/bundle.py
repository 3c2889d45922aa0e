"""What goes into the sandbox with every check: `step_checks/` as one file to import from, compiled."""

import importlib.util
import io
import marshal
import zipfile
from functools import cache
from pathlib import Path
from typing import Final

NAME: Final = "step_checks.zip"
_INSIDE: Final = Path(__file__).resolve().parent / "step_checks"
_UNCHECKED: Final = (1).to_bytes(4, "little")
_WITHOUT_REFERENCES: Final = 2
"""The format of compiled code that is the same bytes whatever else this process has loaded."""


@cache
def bundle() -> bytes:
    """The same bytes for the same sources and Python. Where the sandbox's Python is another, it takes the sources."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(_INSIDE.glob("*.py")):
            name, source = f"{_INSIDE.name}/{path.name}", path.read_bytes()
            archive.writestr(zipfile.ZipInfo(name), source)
            archive.writestr(zipfile.ZipInfo(f"{name}c"), _compiled(source, name))
    return packed.getvalue()


def _compiled(source: bytes, name: str) -> bytes:
    code = marshal.dumps(compile(source, name, "exec", dont_inherit=True), _WITHOUT_REFERENCES)
    return importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source) + code
