"""Notebooks: read from percent format, written with their outputs as .ipynb."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from recipes.errors import RecipeInvalid

_MARKER = re.compile(r"# %%(?!%)(.*)")
_MARKDOWN = re.compile(r"\[(?:markdown|md)\]")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_IN_CELL = re.compile(r"^\s*Cell In\[\d+\], line (\d+)", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A# ---\n(?:#.*\n)*?# ---\n")
_OUTPUT_FIELDS: dict[str, tuple[str, ...]] = {
    "stream": ("name", "text"),
    "display_data": ("data", "metadata"),
    "execute_result": ("data", "metadata", "execution_count"),
    "error": ("ename", "evalue", "traceback"),
}


@dataclass(frozen=True, slots=True)
class NotebookCell:
    """A cell as it stands in the file. `line` is where its source begins, counted from 1."""

    name: str
    source: str
    line: int
    is_markdown: bool = False


def parse(text: str, where: str = "notebook.py") -> tuple[NotebookCell, ...]:
    """The cells of a notebook in percent format, in order; RecipeInvalid names the line that cannot be."""
    cells = tuple(_cells(text, where))
    seen: dict[str, int] = {}
    for cell in cells:
        if cell.is_markdown:
            continue
        if cell.name in seen:
            raise RecipeInvalid(
                f"{where}, line {cell.line - 1}: a second cell is called '{cell.name}' (the first: line "
                f"{seen[cell.name] - 1})",
                "give each cell a name of its own: `# %% name`",
            )
        seen[cell.name] = cell.line
    if not seen:
        raise RecipeInvalid(f"{where} has no cell", "begin one with a line `# %% name`")
    return cells


def _cells(text: str, where: str) -> Iterator[NotebookCell]:
    header = _FRONT_MATTER.match(text)
    lines = text.split("\n")
    begin = header.group().count("\n") if header else 0
    marks = [number for number in range(begin, len(lines)) if _MARKER.fullmatch(lines[number])]
    _refuse_loose_code(lines[begin : marks[0] if marks else len(lines)], begin, where)
    for mark, end in zip(marks, [*marks, len(lines)][1:], strict=True):
        title = lines[mark].removeprefix("# %%").strip()
        body = "\n".join(lines[mark + 1 : end]).strip("\n")
        line = mark + 2 + _blank_lines_at_start(lines[mark + 1 : end])
        if _MARKDOWN.search(title):
            yield NotebookCell(_MARKDOWN.sub("", title).strip(), _as_prose(body), line, is_markdown=True)
        else:
            yield NotebookCell(_checked_name(title, mark + 1, where), f"{body}\n" if body else "", line)


def _blank_lines_at_start(lines: Sequence[str]) -> int:
    return next((number for number, line in enumerate(lines) if line), 0)


def _refuse_loose_code(lines: Sequence[str], begin: int, where: str) -> None:
    for number, line in enumerate(lines, begin + 1):
        if line.strip() and not line.startswith("#"):
            raise RecipeInvalid(
                f"{where}, line {number}: code before the first cell", "put a line `# %% name` above it"
            )


def _checked_name(title: str, line: int, where: str) -> str:
    if not _NAME.fullmatch(title):
        shown = f"the cell's name '{title}' cannot be used" if title else "the cell has no name"
        raise RecipeInvalid(
            f"{where}, line {line}: {shown}",
            "write `# %% name`: small letters, digits, - and _, as recipe.toml is to call it",
        )
    return title


def _as_prose(body: str) -> str:
    return "\n".join(re.sub(r"^# ?", "", line) for line in body.split("\n"))


def failed_line(first: int, outputs: Sequence[Mapping[str, JsonValue]]) -> int | None:
    """The line of notebook.py in which a cell failed, if its code begins on line `first`."""
    for output in outputs:
        if isinstance(shown := output.get("traceback"), list):
            newest = "".join(map(str, shown)).split("Traceback (most recent call last):")[-1]  # others are its causes
            if found := _IN_CELL.search(newest):
                return first + int(found[1]) - 1
    return None


def executed(
    cells: Sequence[NotebookCell],
    outputs: Mapping[str, Sequence[Mapping[str, JsonValue]]],
    counts: Mapping[str, int],
) -> bytes:
    """The notebook with its outputs, in nbformat 4.5: the same cells and outputs give the same bytes."""
    notebook: dict[str, JsonValue] = {
        "cells": [_as_ipynb(number, cell, outputs, counts) for number, cell in enumerate(cells, 1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode(errors="replace")


def _as_ipynb(
    number: int,
    cell: NotebookCell,
    outputs: Mapping[str, Sequence[Mapping[str, JsonValue]]],
    counts: Mapping[str, int],
) -> JsonValue:
    common: dict[str, JsonValue] = {"id": f"cell-{number}", "source": cell.source.rstrip("\n")}
    if cell.is_markdown:
        title: dict[str, JsonValue] = {"title": cell.name} if cell.name else {}
        return {"cell_type": "markdown", "metadata": title, **common}
    count = counts.get(cell.name)
    shown: list[JsonValue] = [_as_output(output, count) for output in outputs.get(cell.name, ())]
    return {
        "cell_type": "code", "metadata": {"title": cell.name}, "execution_count": count, "outputs": shown, **common,
    }  # fmt: skip


def _as_output(output: Mapping[str, JsonValue], count: int | None) -> JsonValue:
    """Only the fields that the format knows; a result carries its cell's number."""
    kind = str(output["output_type"])
    defaults: dict[str, JsonValue] = {"metadata": {}, "execution_count": count}
    whole: dict[str, JsonValue] = {**defaults, **output}
    if kind == "execute_result":
        whole["execution_count"] = count
    return {"output_type": kind, **{field: whole[field] for field in _OUTPUT_FIELDS[kind]}}
