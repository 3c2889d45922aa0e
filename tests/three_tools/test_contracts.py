"""The wire format: exactly the seed's fields, each with its sentence, and schemas that do not drift."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from three_tools.contracts import CONTRACTS, SearchResult, TmpReadResult, TmpWriteArgs, Wire

SNAPSHOT = Path(__file__).with_name("schemas.json")
FIELDS = {
    "sandbox.exec": ("code language files_in timeout_s", "ok stdout stderr display files_out"),
    "browser.search": ("query top_k include_page allow_domains date_range", "results citations_id"),
    "tmp.write": ("path bytes_b64 text", "path size sha256"),
    "tmp.read": ("path", "bytes_b64 text size sha256"),
    "tmp.list": ("prefix", "files"),
    "tmp.delete": ("path", "ok"),
}


def schemas() -> dict[str, dict[str, object]]:
    return {
        name: {"arguments": args.model_json_schema(), "result": result.model_json_schema(mode="serialization")}
        for name, (args, result) in CONTRACTS.items()
    }


@pytest.mark.parametrize("name", FIELDS)
def test_fields_are_the_contracts(name: str) -> None:
    """Each tool takes and gives exactly the fields of its contract."""
    assert tuple(" ".join(model.model_fields) for model in CONTRACTS[name]) == FIELDS[name]


def test_schemas_are_as_they_were() -> None:
    """The JSON schemas are those in schemas.json; whoever changes the wire format changes that file on purpose."""
    assert schemas() == json.loads(SNAPSHOT.read_text())


def test_every_field_has_its_sentence() -> None:
    """People and models read what each field means."""

    def models(schema: dict) -> list[dict]:
        return [schema, *schema.get("$defs", {}).values()]

    for tool, sides in schemas().items():
        for side in sides.values():
            for model in models(side):  # pyright: ignore[reportArgumentType]
                for name, field in model.get("properties", {}).items():
                    assert field.get("description", "").endswith((".", "?")), (tool, name)


@pytest.mark.parametrize("given", [{}, {"text": "a", "bytes_b64": "YQ=="}])
def test_a_file_has_one_content(given: dict[str, str]) -> None:
    """tmp.write takes text or bytes, not both and not neither."""
    with pytest.raises(ValidationError, match="either text or bytes_b64"):
        TmpWriteArgs.model_validate({"path": "a", **given})


def test_alternatives_and_marks_are_left_out_when_there_are_none() -> None:
    """An answer holds text or bytes_b64, and duplicate_of only where there is a duplicate."""
    assert TmpReadResult(text="a", size=1, sha256="x").model_dump() == {"text": "a", "size": 1, "sha256": "x"}
    assert "duplicate_of" not in SearchResult(url="u", title="t", snippet="s").model_dump()
    assert issubclass(SearchResult, Wire)
