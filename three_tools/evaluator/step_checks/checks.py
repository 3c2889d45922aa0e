"""Every file of the request through the checks of its kind; what one file does wrong stays that file's finding."""

import importlib
import os
from typing import Any

from .found import found, name_error

_KINDS = {
    "parquet": "arrow_tables",
    "pq": "arrow_tables",
    "feather": "arrow_tables",
    "arrow": "arrow_tables",
    "csv": "text_tables",
    "tsv": "text_tables",
    "json": "json_files",
    "geojson": "json_files",
    "ipynb": "json_files",
    "jsonl": "json_files",
    "ndjson": "json_files",
    "png": "images",
    "jpg": "images",
    "jpeg": "images",
    "gif": "images",
    "webp": "images",
    "bmp": "images",
    "tif": "images",
    "tiff": "images",
    "svg": "drawings",
    "xml": "markup",
    "html": "markup",
    "htm": "markup",
    "txt": "markup",
    "md": "markup",
    "pdf": "pdf_files",
    "pptx": "office_files",
    "xlsx": "office_files",
    "docx": "office_files",
    "zip": "office_files",
}
"""Which module has `check(file)` for a file's kind. What is not here is only asked not to be empty."""


_DECLARED = {
    "columns": "columns",
    "min_rows": "rows",
    "no_nan": "missing values",
    "ranges": "range",
    "json_schema": "schema",
}
"""By what name a check goes that an expectation declares."""


class File:
    """A file to check: what the run calls it, where its copy lies, and what is expected of it."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.path: str = entry["path"]
        self.object: str = entry["object"]
        self.expects: list[dict[str, Any]] = entry["expects"]
        self.has_claims: bool = entry["has_claims"]
        self.kind = self.path.rpartition("/")[2].rpartition(".")[2].lower() if "." in self.path else ""
        self.size = os.path.getsize(self.object)

    def found(self, check: str, score: float, text: str = "", *, required: bool = False) -> dict[str, Any]:
        """A finding about its correctness."""
        return found("correctness", self.path, check, score, text, required=required)


def check_files(request: dict[str, Any]) -> list[dict[str, Any]]:
    findings: list[dict[str, Any]] = []
    files = [File(entry) for entry in request["files"]]
    for file in files:
        findings += _check(file)
    claiming = [file for file in files if file.has_claims and file.size]
    if claiming:
        from .claims import check_claims
        from .sources import Sources

        sources = Sources(request["citations"], request["paths"], must_be_cited=request["must_be_cited"])
        for file in claiming:
            findings += check_claims(file, sources)
    return findings


def _check(file: File) -> list[dict[str, Any]]:
    if not file.size:
        return [file.found("opens", 0, "it is empty", required=True)]
    try:
        findings = _check_kind(file)
    except Exception as error:  # whatever a hostile file makes a parser raise says the same: it does not open
        return [file.found("opens", 0, name_error(error), required=True)]
    return [*findings, *_unmade(file, findings)]


def _check_kind(file: File) -> list[dict[str, Any]]:
    if file.kind not in _KINDS:
        return [file.found("opens", 1)]
    return importlib.import_module(f".{_KINDS[file.kind]}", __package__).check(file)


def _unmade(file: File, findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was declared and nobody looked at has not passed; a file that failed before needs no more words."""
    if any(finding["is_required"] and finding["score"] < 1 for finding in findings):
        return []
    declared = {check for field, check in _DECLARED.items() for expected in file.expects if expected[field]}
    missing = sorted(declared - {finding["check"] for finding in findings})
    return [
        file.found(check, 0, f"declared, but this .{file.kind} file cannot be checked for it", required=True)
        for check in missing
    ]
