"""Good and bad steps through the real sandbox: each moves the dimension it should, and no other."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from three_tools.evaluator import Expectations, ExpectedFile, Range

GOOD = (1.0, 1.0, 1.0, 1.0)
CORRECTNESS_0 = (1.0, 0.0, 1.0, 1.0)
EVIDENCE_0 = (1.0, 1.0, 0.0, 1.0)
CITED = json.dumps({"results": [{"url": "https://example.org/a/"}, {"url": "file:notes/a.md"}]}).encode()
Files = dict[str, bytes]


@dataclass(frozen=True)
class Case:
    """A step, the scores it must get (completeness, correctness, evidence, hygiene), and a word of its critique."""

    files: Files | Callable[[Files], Files]
    scores: tuple[float, float, float, float]
    critique: str
    expects: tuple[ExpectedFile, ...] = ()
    step: dict[str, Any] = field(default_factory=dict)
    verdict: str = ""
    """By default PASS for all scores at 1, else FAIL."""


def made(*names: str) -> Callable[[Files], Files]:
    return lambda library: {name: library[name] for name in names}


def cut(name: str, share: float = 0.6) -> Callable[[Files], Files]:
    return lambda library: {name: library[name][: int(len(library[name]) * share)]}


def dented(name: str) -> Callable[[Files], Files]:
    """The file with sixteen other bytes in its middle."""

    def dent(library: Files) -> Files:
        middle = len(library[name]) // 2
        return {name: library[name][:middle] + b"\x55" * 16 + library[name][middle + 16 :]}

    return dent


def facts(*entries: Any) -> bytes:
    return json.dumps({"facts": entries}).encode()


def a_file(path: str, **checks: Any) -> tuple[ExpectedFile, ...]:
    return (ExpectedFile(path=path, **checks),)


KINDS = {"month": "date", "leads": "integer", "rate": "number", "region": "text", "won": "boolean"}
SCHEMA = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
BRIEF = a_file("brief.*", has_claims=True)

CASES: dict[str, Case] = {
    # Completeness
    "nothing expected": Case({}, GOOD, "did what was asked"),
    "a refused call": Case({}, (0, 1, 1, 1), "out_of_scope: no", step={"ok": False, "code": "out_of_scope", "detail": "no"}),
    "a failed cell": Case({}, (0, 1, 1, 1), "timeout", step={"ok": False, "cause": "timeout"}),
    "a missing file": Case({}, (0, 1, 1, 1), "kpis.parquet: is there: not found", a_file("kpis.parquet")),
    "one of two missing": Case({"a.txt": b"a"}, (0.5, 1, 1, 1), "b.txt: is there", a_file("a.txt") + a_file("b.txt")),
    "a pattern stays in its folder": Case({"x/a.txt": b"a"}, (0, 1, 1, 1), "*.txt: is there", a_file("*.txt")),
    "an optional file missing": Case({}, GOOD, "", a_file("b.txt", is_required=False)),
    # Correctness: files as they are
    "all kinds well made": Case(
        made("kpis.parquet", "sealed.parquet", "kpis.feather", "kpis.csv", "kpis.xlsx", "chart.png", "chart.svg", "brief.pdf", "packed.pdf",
             "deck.pptx", "pack.zip"),
        GOOD, "36 rows × 5 columns",
    ),
    "a truncated parquet": Case(cut("kpis.parquet"), CORRECTNESS_0, "kpis.parquet: opens"),
    "a parquet damaged inside": Case(
        lambda library: {"sealed.parquet": library["sealed.parquet"].replace(b"northsouth", b"northsauth")},
        CORRECTNESS_0, "sealed.parquet: opens: OSError",
    ),
    "a truncated feather": Case(cut("kpis.feather"), CORRECTNESS_0, "kpis.feather: opens"),
    "a parquet without rows": Case(made("no-rows.parquet"), CORRECTNESS_0, "rows: 0"),
    "one broken of four": Case(
        {"a.txt": b"a", "b.txt": b"b", "c.txt": b"c", "d.json": b"{"}, (1, 0.75, 1, 1), "d.json: parses: JSONDecodeError"
    ),
    "an empty file": Case({"notes.xyz": b""}, CORRECTNESS_0, "it is empty"),
    "an empty csv": Case({"a.csv": b""}, CORRECTNESS_0, "a.csv: opens: it is empty"),
    "a csv of blank lines": Case({"a.csv": b"\n\n"}, CORRECTNESS_0, "no header"),
    "a csv with a header only": Case({"a.csv": b"a,b\n"}, CORRECTNESS_0, "a.csv: rows: 0, at least 1"),
    "a ragged csv": Case({"a.csv": b"a,b\n1,2\n3\n"}, CORRECTNESS_0, "line 3 has 1 fields, the header has 2"),
    "a csv with semicolons and a quoted line break": Case({"a.csv": b'a;b\n"x\ny";2\n'}, GOOD, "1 row × 2 columns"),
    "a csv cut off within quotes": Case({"a.csv": b'a,b\n1,"x\n2,y\n3,z'}, CORRECTNESS_0, "unexpected end of data"),
    "a csv with semicolons and a comma in a name": Case({"a.csv": b"Revenue, EUR;b\n1;2\n"}, GOOD, "1 row × 2 columns"),
    "a csv with a long text": Case({"a.csv": b"a,b\n" + b"x" * 200_000 + b",1\n"}, GOOD, "1 row × 2 columns"),
    "a tsv": Case({"a.tsv": b"a\tb\n1\t2\n"}, GOOD, "1 row × 2 columns"),
    "a csv that is no text": Case({"a.csv": b"a,b\n\xff\x81\xfa,1\n"}, CORRECTNESS_0, "UnicodeDecodeError"),
    "a csv in Windows-1252": Case({"a.csv": b"Stra\xdfe;\x80\nK\xf6ln;1,5\n"}, (1, 1, 1, 0.5), "in Windows-1252", verdict="PASS"),
    "a csv of one long line": Case({"a.csv": b"x" * 40_000_000}, CORRECTNESS_0, "a.csv: opens"),
    "a json with NaN": Case({"a.json": b'{"x": NaN}'}, CORRECTNESS_0, "NaN is no JSON"),
    "a deep json": Case({"a.json": b"[" * 200_000}, CORRECTNESS_0, "a.json: opens: RecursionError"),
    "a jsonl with a broken line": Case({"a.jsonl": b'{"a": 1}\n{"a"\n'}, CORRECTNESS_0, "line 2"),
    "a json with half a character": Case({"a.json": b'{"\\ud800": "\\udfff"}'}, GOOD, ""),
    "a blank picture": Case(made("blank.png"), CORRECTNESS_0, "blank.png: not blank: all 40 × 30 pixels"),
    "a transparent picture": Case(made("clear.png"), CORRECTNESS_0, "clear.png: not blank"),
    "a thin line on nothing": Case(made("spark.png"), GOOD, "400 × 100 pixels"),
    "a picture with one speck": Case(made("speck.png"), CORRECTNESS_0, "speck.png: not blank"),
    "a blurred speck": Case(made("speck.jpg"), CORRECTNESS_0, "speck.jpg: not blank"),
    "a blank picture for the web": Case(made("blank.webp"), CORRECTNESS_0, "blank.webp: not blank"),
    "an svg without shapes": Case(
        {"a.svg": b'<svg xmlns="http://www.w3.org/2000/svg"><title>T</title><g/></svg>'}, CORRECTNESS_0, "a.svg: not blank: nothing is drawn"
    ),
    "a truncated picture": Case(cut("chart.png"), CORRECTNESS_0, "chart.png: opens: OSError"),
    "an svg cut off": Case(cut("chart.svg"), CORRECTNESS_0, "chart.svg: opens: ExpatError"),
    "html without text": Case(
        {"a.html": b"<head><title>T</title></head><body><script>1</script> </body>"}, CORRECTNESS_0, "no text"
    ),
    "a truncated pdf": Case(cut("brief.pdf"), CORRECTNESS_0, "no %%EOF"),
    "a pdf dented in the middle": Case(dented("brief.pdf"), CORRECTNESS_0, "cannot be unpacked"),
    "a packed pdf dented in the middle": Case(dented("packed.pdf"), CORRECTNESS_0, "cannot be unpacked"),
    "a pdf without pages": Case(
        {"a.pdf": b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\nxref\n0 1\ntrailer\n<<>>\nstartxref\n29\n%%EOF\n"}, CORRECTNESS_0, "no page"
    ),
    "a deck without slides": Case(made("no-slides.pptx"), CORRECTNESS_0, "no slide"),
    "a truncated deck": Case(cut("deck.pptx"), CORRECTNESS_0, "deck.pptx: opens: BadZipFile"),
    "a workbook without cells": Case(made("no-cells.xlsx"), CORRECTNESS_0, "no cell"),
    "a docx that is none": Case(lambda library: {"a.docx": library["pack.zip"]}, CORRECTNESS_0, "no document"),
    "a zip bomb": Case(made("bomb.zip"), CORRECTNESS_0, "would unpack to 6 files and 572 MB"),
    "text of signs nobody sees": Case({"a.md": "\u200b\0\n".encode()}, CORRECTNESS_0, "no text"),
    "white space for text": Case({"a.md": b" \n\n"}, CORRECTNESS_0, "no text"),
    # Correctness: what was declared
    "columns of their kinds, parquet": Case(
        made("kpis.parquet"), GOOD, "",
        a_file("kpis.parquet", columns=KINDS, min_rows=36, no_nan=("rate",), ranges={"rate": Range(least=0, most=1)}),
    ),
    "columns of their kinds, csv": Case(
        made("kpis.csv"), GOOD, "", a_file("kpis.csv", columns=KINDS, no_nan=("rate",), ranges={"leads": Range(most=35)})
    ),
    "columns of their kinds, xlsx": Case(made("kpis.xlsx"), GOOD, "", a_file("kpis.xlsx", columns=KINDS, min_rows=36)),
    "a column missing": Case(
        made("kpis.parquet"), CORRECTNESS_0, "column 'cost' is missing", a_file("kpis.parquet", columns={"cost": "number"})
    ),
    "a column of another kind": Case(
        {"a.csv": b"n\n1\nmany\n"}, CORRECTNESS_0, "'n' is to be number, and has 'many'", a_file("a.csv", columns={"n": "number"})
    ),
    "a parquet column of another kind": Case(
        made("kpis.parquet"), CORRECTNESS_0, "'region' is to be number", a_file("kpis.parquet", columns={"region": "number"})
    ),
    "columns as pandas types them, parquet": Case(
        made("kinds.parquet"), GOOD, "",
        a_file("kinds.parquet", columns={"day": "date", "at": "date", "area": "text", "price": "number", "units": "integer",
                                         "count": "integer", "flag": "boolean", "short": "number", "note": "text", "tags": "any"},
               no_nan=("blank",), ranges={"short": Range(least=0.5, most=1)}),
    ),
    "a span of time is no date": Case(
        made("kinds.parquet"), CORRECTNESS_0, "'taken' is to be date, and has type duration", a_file("kinds.parquet", columns={"taken": "date"})
    ),
    "text is no number, parquet": Case(
        made("kinds.parquet"), CORRECTNESS_0, "'code' is to be number, and has type", a_file("kinds.parquet", columns={"code": "number"})
    ),
    "text is no number, json": Case(
        {"a.json": b'[{"n": "1"}]'}, CORRECTNESS_0, "'n' is to be number, and has '1'", a_file("a.json", columns={"n": "number"})
    ),
    "text is no number, xlsx": Case(
        made("formulas.xlsx"), CORRECTNESS_0, "'code' is to be number, and has '12'", a_file("formulas.xlsx", columns={"code": "number"})
    ),
    "formulas that nobody calculated yet": Case(
        made("formulas.xlsx"), GOOD, "2 rows × 4 columns",
        a_file("formulas.xlsx", columns={"month": "date", "leads": "integer", "double": "number"}, no_nan=("double",)),
    ),
    "an error in a workbook": Case(made("formulas.xlsx"), CORRECTNESS_0, "'code' lacks 1 of 2", a_file("formulas.xlsx", no_nan=("code",))),
    "numbers with a decimal comma": Case({"a.csv": b"n;m\n1,5;2\n"}, GOOD, "", a_file("a.csv", columns={"n": "number"}, ranges={"n": Range(most=2)})),
    "a quarter as pandas writes it": Case({"a.csv": b"q\n2024Q1\n"}, GOOD, "", a_file("a.csv", columns={"q": "date"})),
    "digits only Python reads": Case(
        {"a.csv": b"n\n1_000\n"}, CORRECTNESS_0, "'n' is to be number, and has '1_000'", a_file("a.csv", columns={"n": "number"})
    ),
    "too few rows": Case(made("kpis.csv"), CORRECTNESS_0, "rows: 36, at least 40", a_file("kpis.csv", min_rows=40)),
    "no rows where none are asked": Case({"a.csv": b"a,b\n"}, GOOD, "0 rows", a_file("a.csv", min_rows=0)),
    "a missing value": Case(
        made("gaps.parquet"), CORRECTNESS_0, "'rate' lacks 1 of 36", a_file("gaps.parquet", no_nan=("rate",))
    ),
    "a missing value in a csv": Case({"a.csv": b"a,b\n1,\n"}, CORRECTNESS_0, "'b' lacks 1 of 1", a_file("a.csv", no_nan=("b",))),
    "a missing value by another name": Case({"a.csv": b"a,b\n1,#N/A\n2,-nan\n"}, CORRECTNESS_0, "'b' lacks 2 of 2", a_file("a.csv", no_nan=("b",))),
    "an entry that is no record": Case({"a.json": b'[{"n": 1}, 2]'}, CORRECTNESS_0, "'n' lacks 1 of 2", a_file("a.json", no_nan=("n",))),
    "a value in no range": Case(
        {"a.csv": b"n\n1\nmany\n"}, CORRECTNESS_0, "range: column 'n' has 'many', which is no number", a_file("a.csv", ranges={"n": Range(most=3)})
    ),
    "a range of no rows": Case({"a.csv": b"n\n"}, GOOD, "", a_file("a.csv", min_rows=0, ranges={"n": Range(most=3)})),
    "a value out of range": Case(
        made("kpis.parquet"), CORRECTNESS_0, "'leads' has 35, at most 30", a_file("kpis.parquet", ranges={"leads": Range(most=30)})
    ),
    "json that fits its schema": Case({"a.json": b'{"total": 3}'}, GOOD, "", a_file("a.json", json_schema=SCHEMA)),
    "json that does not fit": Case(
        {"a.json": b'{"total": "3"}'}, CORRECTNESS_0, "schema: data.total must be number", a_file("a.json", json_schema=SCHEMA)
    ),
    "a schema that refers to a web page": Case(
        {"a.json": b"1"}, CORRECTNESS_0, "schema: the declared schema cannot be used: ValueError: it refers to http://127.0.0.1:9/s.json",
        a_file("a.json", json_schema={"$ref": "http://127.0.0.1:9/s.json"}),
    ),
    "a schema that refers to a file": Case(
        {"a.json": b"1"}, CORRECTNESS_0, "it refers to file:///etc/passwd", a_file("a.json", json_schema={"$ref": "file:///etc/passwd"})
    ),
    "a schema that is none": Case(
        {"a.json": b"1"}, CORRECTNESS_0, "schema: the declared schema cannot be used: JsonSchemaDefinition", a_file("a.json", json_schema={"type": "objekt"})
    ),
    "a schema in a circle": Case({"a.json": b"1"}, CORRECTNESS_0, "schema: the schema goes round", a_file("a.json", json_schema={"$ref": "#"})),
    "a default is no value": Case(
        {"a.json": b'[{"n": 1}, {}]'}, CORRECTNESS_0, "'n' lacks 1 of 2",
        a_file("a.json", no_nan=("n",), json_schema={"items": {"properties": {"n": {"default": 0}}}}),
    ),
    "lines that fit their schema": Case({"a.jsonl": b'{"total": 1}\n{"total": 2}\n'}, GOOD, "2 rows", a_file("a.jsonl", json_schema=SCHEMA)),
    "a line that does not": Case(
        {"a.jsonl": b'{"total": 1}\n{"total": "2"}\n'}, CORRECTNESS_0, "schema: record 2: data.total must be number", a_file("a.jsonl", json_schema=SCHEMA)
    ),
    "a check that the file is not fit for": Case(
        {"a.html": b"<table><tr><td>1</table>"}, CORRECTNESS_0, "a.html: rows: declared, but this .html file cannot be checked", a_file("a.html", min_rows=9)
    ),
    "one of four fails what was declared": Case(
        {"a.txt": b"a", "b.txt": b"b", "c.txt": b"c", "d.csv": b"n\n1\n"}, (1, 0.75, 1, 1), "d.csv: rows", a_file("d.csv", min_rows=2)
    ),
    # Evidence
    "facts with addresses": Case({"facts.json": facts({"fact": "A", "url": "https://example.org/b"})}, GOOD, "1 of 1 claims"),
    "a fact without source": Case({"facts.json": facts({"fact": "Sales rose"})}, EVIDENCE_0, "“Sales rose”"),
    "one fact of two without source": Case(
        {"facts.json": facts({"claim": "A", "sources": [{"url": "http://x.org"}]}, {"claim": "B"})}, (1, 1, 0.5, 1), "“B”"
    ),
    "cited addresses": Case(
        {"facts.json": facts({"text": "A", "urls": ["http://example.org/a#top"]}, {"text": "B", "source": "file:notes/a.md"}),
         "citations/q.json": CITED},
        GOOD, "2 of 2 claims",
    ),
    "an address nobody cited": Case(
        {"facts.json": facts({"fact": "A", "url": "https://example.org/b"}), "citations/q.json": CITED}, EVIDENCE_0, "“A”"
    ),
    "a dataset of the run": Case(
        lambda library: {"facts.json": facts({"fact": "A", "dataset": "tmp/kpis.parquet#leads"}), "kpis.parquet": library["kpis.parquet"]},
        GOOD, "1 of 1 claims",
    ),
    "a dataset that is not there": Case({"facts.json": facts({"fact": "A", "dataset": "kpis.parquet"})}, EVIDENCE_0, "“A”"),
    "a file as its own source": Case({"facts.json": facts({"fact": "A", "source": "facts.json"})}, EVIDENCE_0, "“A”"),
    "facts that are no list": Case({"facts.json": b'{"note": 1}'}, EVIDENCE_0, "claims: TypeError"),
    "a brief with sources": Case(
        {"brief.md": b"# 2024\n\nIt rose 5 % [1].\n\n- Costs fell 2 % (see `k.csv`).\n- Up 3 % [^n].\n\nNo figure here.\n\n"
                     b"```\n42\n```\n\n[^n]: https://example.org/n\n\n## Sources\n1. https://example.org/a\n",
         "k.csv": b"a\n1\n"},
        GOOD, "3 of 3 claims", BRIEF,
    ),
    "a brief as people write it": Case(
        {"out/brief.md": b"---\ndate: 2024-05-01\n---\n\nTable 1 shows CO2 per m\xc2\xb2 in Q3.\n\nUp 5 % [1, 2].\n\nDown 2 %. Source: ../k.csv\n\n"
                         b"Up 3 % ([Foo](https://en.wikipedia.org/wiki/Foo_(bar))).\n\n**Sources**\n\n1. Own view\n2. Foo: https://en.wikipedia.org/wiki/Foo_(bar)\n",
         "k.csv": b"a\n1\n", "citations/q.json": b'{"results": [{"url": "https://en.wikipedia.org/wiki/Foo_(bar)"}]}'},
        GOOD, "3 of 3 claims", a_file("out/brief.md", has_claims=True),
    ),
    "an address of no host": Case({"facts.json": facts({"fact": "A", "url": "https://n/a"})}, EVIDENCE_0, "facts.json: source"),
    "an empty address": Case({"facts.json": facts({"fact": "A", "url": ""})}, EVIDENCE_0, "facts.json: source"),
    "a fact by another name": Case({"facts.json": facts({"finding": "Sales rose"})}, EVIDENCE_0, "Sales rose"),
    "an unsupported claim after many": Case(
        {"facts.json": facts(*[{"fact": "A", "url": "https://x.org"}] * 2500, {"fact": "B"})}, (1, 1, 2000 / 2001, 1), "“B”", verdict="FAIL"
    ),
    "a note without end": Case({"brief.md": b"Up 5 % [1].\n\n# Sources\n1. https://x.org\n" + b"a\n" * 2_000_000}, GOOD, "1 of 1 claims", BRIEF),
    "a heading of spaces": Case({"brief.md": b"# " + b" " * 20_000 + b"x"}, GOOD, "", BRIEF),
    "a brief whose note is missing": Case({"brief.md": b"It rose 5 % [2].\n\n## Sources\n\n1. https://a.org\n"}, EVIDENCE_0, "“It rose 5 %", BRIEF),
    "a brief with sums of money": Case({"brief.md": b"It costs EUR50.\n"}, EVIDENCE_0, "“It costs EUR50", BRIEF),
    "a brief of open comments": Case({"brief.md": b"<!--" * 200_000 + b" 5"}, EVIDENCE_0, "brief.md: source", BRIEF),
    "a figure in a comment": Case({"brief.md": b"None <!-- 5 --> here."}, GOOD, "1 of 1 files", BRIEF),
    "a page with sources": Case(
        {"brief.html": b"<h1>2024</h1><p>Up 5 %<a href='#note-1'>1</a></p><div data-source='k.csv'><ul><li>Down 2 %</li></ul></div>"
                       b"<p>3 <a href='https://example.org'>here</a><h2>Notes</h2><ol><li id='note-1'>https://example.org/1 (2023)</ol>",
         "k.csv": b"a\n1\n"},
        GOOD, "3 of 3 claims", BRIEF,
    ),
    "a page without": Case({"brief.html": b"<h1>B</h1><p>Sales rose by 5 %.</p>"}, EVIDENCE_0, "“Sales rose by 5 %.”", BRIEF),
    "a search that brought nothing": Case({}, EVIDENCE_0, "results: 0 of at least 1", step={"tool": "search", "results": 0}),
    "a search": Case(
        {"citations/q.json": CITED}, GOOD, "", step={"results": 2, "citations": ("citations/q.json",)}
    ),
    "a search without its file": Case({}, (1, 1, 0.5, 1), "citations file: not found: citations/q.json", step={"results": 2, "citations": ("citations/q.json",)}),
    # Hygiene
    "a warning": Case({}, (1, 1, 1, 0.5), "FutureWarning: old", step={"stderr": "x.py:1: FutureWarning: old\n"}, verdict="PASS"),
    "an error on stderr": Case({}, (1, 1, 1, 0), "an error on stderr", step={"stderr": "Traceback (most recent call last):\n"}),
    "words on stderr": Case({}, (1, 1, 1, 0.9), "text on stderr: 50 %", step={"stderr": "50 %\n"}, verdict="PASS"),
    "over its budget": Case({}, (1, 1, 1, 0.5), "time budget: 3.0 s of 2 s", step={"seconds": 3.0}, verdict="PASS"),
    "far over its budget": Case({}, (1, 1, 1, 0), "time budget", step={"seconds": 5.0}),
    "processes left behind": Case({}, (1, 1, 1, 0.75), "2 were ended", step={"killed_processes": 2}, verdict="PASS"),
    "a link passed over": Case({}, (1, 1, 1, 0.75), "l (a link)", step={"skipped": {"l": "a link"}}, verdict="PASS"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_step_is_judged_for_its_own_reason(court: Any, name: str) -> None:
    """The dimension that is at fault moves and the others do not; the verdict follows; the critique names the check."""
    case = CASES[name]
    files = case.files(dict(court.made)) if callable(case.files) else case.files
    step = court.step(files, expects=Expectations(files=case.expects, budget_s=2.0), **case.step)
    judged = court.judge(step)
    scores = (judged.completeness, judged.correctness, judged.evidence, judged.hygiene)
    assert scores == pytest.approx(case.scores), judged.critique
    assert judged.verdict == (case.verdict or ("PASS" if case.scores == GOOD else "FAIL")), judged.critique
    assert case.critique in judged.critique
