"""Text from outside cannot pass for something else."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from run_record.plain_text import markdown, printable, read_back

viewer = MarkdownIt("commonmark").enable(["table", "strikethrough"])
anything = st.text(st.characters(exclude_categories=[]), max_size=80)
hostile = st.text(st.sampled_from("\n\r\x1b\u202e\u2028#*_`<>[]()!&|~-+=.:\\/ \tab1nxu0"), max_size=40)


@given(anything | hostile)
@example("\\n")
@example("\\x41")
@example("a\\")
def test_escaped_text_reads_back(text: str) -> None:
    """Both ways of escaping lose nothing."""
    assert read_back(printable(text)) == text
    assert read_back(markdown(text)) == text


@given(anything | hostile)
def test_escaped_text_is_one_visible_line(text: str) -> None:
    """No control, format or line-breaking character is left, so nothing moves the cursor or starts a line."""
    for escaped in (printable(text), markdown(text)):
        assert {unicodedata.category(char) for char in escaped}.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
        assert escaped.splitlines() in ([], [escaped])


@given(hostile, st.sampled_from(["- {}", "**Inputs:** {}", "> {}", "- [ ] {}"]))
@example("# heading", "- {}")
@example("__Evaluation (by Evaluator):__ PASS", "- {}")
@example("1. one", "- {}")
@example("<script>alert(1)</script>", "**Inputs:** {}")
@example("![x](http://evil.example)", "- {}")
@example("--- ", "> {}")
@example(":_0_:", "- {}")
def test_escaped_text_makes_no_markup(text: str, line: str) -> None:
    """A Markdown viewer shows escaped text as text: no heading, list, emphasis, link or HTML comes of it."""
    plain = structure(viewer.parse(line.format("word")))
    assert structure(viewer.parse(line.format(markdown(text) or "word"))) == plain


def structure(tokens: list[Token]) -> list[str]:
    """What a document is made of, without its words."""
    found: list[str] = []
    for token in tokens:
        if token.type == "inline":
            found += [child.type for child in token.children or [] if child.type not in ("text", "text_special")]
        else:
            found.append(token.type)
    return found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kpis_2026_v2.parquet", "kpis_2026_v2.parquet"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("abc\u202etxt.exe", "abc\\u202etxt.exe"),
        ("naïve – 80 %", "naïve – 80 %"),
        ("back\\slash", "back\\\\slash"),
    ],
)
def test_ordinary_text_stays_readable(text: str, shown: str) -> None:
    """Ordinary text is shown as it is, and only what cannot be seen is spelt out."""
    assert printable(text) == shown
    assert markdown(text) == shown or "[" in text
