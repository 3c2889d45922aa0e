"""Text from outside, made unable to pass for something else on a terminal or in CEL.md, and back again."""

import re
import unicodedata

# Control, format (bidi overrides, zero width), surrogate, private, unassigned, line and paragraph separators.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)", re.DOTALL)
# What starts emphasis, code, HTML, a link, a table cell or an entity anywhere, and what starts a block at the front.
# An underscore between letters or digits starts nothing, and stays readable.
_INLINE_MARKUP = re.compile(r"[`*<\[\]|~&]|(?<![^\W_])_|_(?![^\W_])")
_BLOCK_MARKUP = re.compile(r"^([#>+=-]|\d+[.)])")


def printable(text: str) -> str:
    """The text on one line with every invisible character spelt out; `read_back` undoes it."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(_spell(char) for char in text)


def markdown(text: str) -> str:
    """The text on one line of Markdown, shown as it is: no heading, emphasis, link or HTML comes of it."""
    line = _INLINE_MARKUP.sub(lambda m: f"\\{m[0]}", printable(text))
    line = _BLOCK_MARKUP.sub(lambda m: f"{m[0][:-1]}\\{m[0][-1]}", line)
    # Markdown drops spaces at the ends of a line; spelt out, they survive.
    if line.startswith(" "):
        line = f"\\x20{line[1:]}"
    return f"{line[:-1]}\\x20" if line.endswith(" ") else line


def read_back(line: str) -> str:
    """Undo `printable` or `markdown`."""
    return _ESCAPED.sub(_unspell, line)


def _spell(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char == " " or unicodedata.category(char) not in _INVISIBLE:
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _unspell(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(escape, escape)
