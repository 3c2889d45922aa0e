"""Claims and whether each has a source: facts as JSON here, briefs as Markdown and HTML next door."""
# JSON of anybody's is typed by looking at it; the sandbox's environment alone has the libraries.
# pyright: basic, reportMissingImports=false

from collections.abc import Iterator
from itertools import islice
from typing import Any

from .found import found, name_error, plain
from .json_files import parse
from .sources import Sources, strings_in
from .text import read_text

_CLAIM_FIELDS = ("fact", "claim", "text", "statement")
_SOURCE_FIELDS = ("url", "urls", "source", "sources", "source_url", "link", "dataset", "citation")
_MOST_CLAIMS = 2000
"""So many are told one by one; of the others, only the first that has no source."""
_QUOTED = 60

Claim = tuple[str, list[str]]
"""What is claimed, and what is named as its source."""


def check_claims(file: Any, sources: Sources) -> list[dict[str, Any]]:
    try:
        claims = read_claims(file)
        if claims is None:
            return [
                found("evidence", file.path, "claims", 1, f"its claims are not read: .{file.kind} is not supported")
            ]
        findings = [_judge(file, claim, sources) for claim in islice(claims, _MOST_CLAIMS)]
        rest = next((claim for claim in claims if not _is_supported(claim, file, sources)), None)
        return findings if rest is None else [*findings, _judge(file, rest, sources)]
    except Exception as error:  # a file that cannot be read has no claim with a source either
        return [found("evidence", file.path, "claims", 0, name_error(error), required=True)]


def read_claims(file: Any) -> Iterator[Claim] | None:
    """The claims of a file; None where nobody can read them."""
    if file.kind == "json":
        return _facts(parse(read_text(file.object)))
    if file.kind in ("md", "txt"):
        from .markdown_claims import read_markdown

        return read_markdown(read_text(file.object))
    if file.kind in ("html", "htm"):
        from .html_claims import read_html

        return read_html(read_text(file.object))
    return None


def _judge(file: Any, claim: Claim, sources: Sources) -> dict[str, Any]:
    text, _ = claim
    is_supported = _is_supported(claim, file, sources)
    problem = "" if is_supported else f"none that counts for “{plain(text, _QUOTED)}”"
    return found("evidence", file.path, "source", float(is_supported), problem, required=True)


def _is_supported(claim: Claim, file: Any, sources: Sources) -> bool:
    return any(sources.support(name, file.path) for name in claim[1])


def _facts(value: Any) -> Iterator[Claim]:
    entries = value
    if isinstance(value, dict):
        entries = value.get("facts", value.get("claims"))
    if not isinstance(entries, list):
        raise TypeError("claims are a list, or a list under `facts` or `claims`; this has none")
    for entry in entries:
        fields = entry if isinstance(entry, dict) else {}
        text = next((fields[name] for name in _CLAIM_FIELDS if isinstance(fields.get(name), str)), str(entry)[:200])
        yield text, [named for name in _SOURCE_FIELDS for named in strings_in(fields.get(name))]
