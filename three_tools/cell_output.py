"""What a cell showed, as the contract has it: bounded text, one typed display, pictures as files of the run."""

import base64
import binascii
import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import ValidationError

from run_record import Workspace
from run_record.errors import CallerError
from sandbox import Captured, CellResult, Output
from three_tools.contracts import Display, ImageDisplay, JsonDisplay, TableDisplay, TextDisplay

LONGEST_STREAM = 20_000
"""So many characters of a stream stand in the answer; all of it is then in a file."""
_TABLE = "application/vnd.partner.table+json"
_PICTURES = {"image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg"}


@dataclass(slots=True)
class CellOutput:
    """A cell's streams and its display."""

    stdout: str = ""
    stderr: str = ""
    display: Display | None = None
    saved: list[str] = field(default_factory=list[str])
    """Files that were made of it."""


def show(result: CellResult, workspace: Workspace) -> CellOutput:
    """Put a cell's outputs into the contract's shape. What does not fit there is saved, never dropped."""
    shown = CellOutput()
    out: list[str] = []
    err: list[str] = []
    last = _last_display(result.outputs)
    for output in result.outputs:
        match output:
            case {"output_type": "stream", "name": "stdout", "text": text}:
                out.append(text)
            case {"output_type": "stream", "text": text}:
                err.append(text)
            case {"output_type": "error", "traceback": lines}:
                err.append("".join(line if line.endswith("\n") else f"{line}\n" for line in lines))
            case {"data": dict()}:
                display = _display(output, workspace, shown)
                if output is last:
                    shown.display = display
                else:  # the contract has room for one; the others keep their place among what was printed
                    out.append(f"{_in_words(display)}\n")
            case _:
                continue
    shown.stdout = _bounded("stdout", "".join(out), result.stdout, workspace, shown)
    shown.stderr = _bounded("stderr", "".join(err), result.stderr, workspace, shown)
    return shown


def _last_display(outputs: tuple[Output, ...]) -> Output | None:
    """The value of the last expression, or else what was displayed last."""
    displays = [output for output in outputs if "data" in output]
    results = [output for output in displays if output["output_type"] == "execute_result"]
    return next(reversed(results or displays), None)


def _display(output: Output, workspace: Workspace, shown: CellOutput) -> Display:
    data = output["data"]
    if isinstance(table := data.get(_TABLE), dict):
        with suppress(ValidationError):  # a cell may display what it likes under any media type
            return TableDisplay.model_validate(table)
    for media_type, suffix in _PICTURES.items():
        if isinstance(picture := data.get(media_type), str):
            return _saved_picture(picture, media_type, suffix, workspace, shown)
    if "application/json" in data:
        with suppress(ValueError):  # a ValidationError is one; so is what json says of NaN, which is no JSON
            json.dumps(data["application/json"], allow_nan=False)
            return JsonDisplay(value=data["application/json"])
    text = data.get("text/plain") or data.get("text/markdown") or data.get("text/html") or ""
    return TextDisplay(text=_cut(str(text), ""))


def _saved_picture(data: str, media_type: str, suffix: str, workspace: Workspace, shown: CellOutput) -> Display:
    try:
        content = data.encode() if suffix == "svg" else base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return TextDisplay(text=f"a display of {media_type} that is not base64")
    # Named by its content: the same figure has the same name in every run.
    path = f"displays/{hashlib.sha256(content).hexdigest()[:16]}.{suffix}"
    if problem := _save(path, content, workspace, shown):
        return TextDisplay(text=f"a display of {media_type} that could not be saved: {problem}")
    return ImageDisplay(path=path, media_type=media_type)


def _save(path: str, content: bytes, workspace: Workspace, shown: CellOutput) -> str:
    """Why it could not be saved: a cell may have put something in the way."""
    try:
        workspace.write(path, content)
    except CallerError as error:
        return error.problem
    shown.saved.append(path)
    return ""


def _in_words(display: Display) -> str:
    match display:
        case TextDisplay(text=text):
            return text
        case TableDisplay():
            head = "\t".join(display.columns)
            rows = ["\t".join("" if value is None else str(value) for value in row) for row in display.rows]
            left_out = f"\n… {display.total_rows} rows in all" if display.truncated else ""
            return "\n".join([head, *rows]) + left_out
        case ImageDisplay(path=path):
            return f"[picture: {path}]"
        case JsonDisplay(value=value):
            return str(value)


def _bounded(name: str, text: str, captured: Captured, workspace: Workspace, shown: CellOutput) -> str:
    lost_bytes = captured.total - captured.captured
    beyond = f"; {lost_bytes:,} bytes more were not captured" if captured.truncated else ""
    if len(text) <= LONGEST_STREAM:
        return f"{text}\n… {beyond[2:]} …\n" if beyond else text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
    path = f"output/{digest}.{name}.txt"
    if problem := _save(path, text.encode(errors="replace"), workspace, shown):
        return _cut(text, f"; it could not be saved: {problem}{beyond}")
    kept = "what was captured" if beyond else "all of it"
    return _cut(text, f"; {kept} is in {path}{beyond}")


def _cut(text: str, where: str) -> str:
    """The text's beginning and end, with a marker between them."""
    left_out = len(text) - LONGEST_STREAM
    if left_out <= 0:
        return text
    half = LONGEST_STREAM // 2
    return f"{text[:half]}\n… {left_out:,} characters left out here{where} …\n{text[-half:]}"
