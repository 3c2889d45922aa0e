"""The tool browser.search: sources with their citations, and what the provider said kept as it was."""

import json
from collections import Counter
from datetime import date
from hashlib import sha256
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from run_record import Artifact, RunRecord
from run_record.clock import timestamp
from three_tools.contracts import BrowserSearchArgs, BrowserSearchResult, SearchResult
from three_tools.errors import CallRefused
from three_tools.search.date_range import parse_date_range
from three_tools.search.provider import Found, Hit, SearchQuery
from three_tools.tool import Bench, Tool, ToolCall, bench_of
from three_tools.words import count, names

CITATIONS = "citations"
RAW = "evidence/raw"
_TOP_DOMAINS = 10
_FORMAT = 1


class BoundedSearch(BrowserSearchArgs):
    """A browser.search by a recipe on this machine, which also says how long it may take."""

    within_s: float = Field(exclude=True, gt=0)


def search(call: ToolCall, args: BrowserSearchArgs) -> BrowserSearchResult:
    bench, report = bench_of(call), call.report
    report.inputs = _salient(args)
    report.paths = frozenset()
    report.results = 0
    bench.record.require_open()
    found = bench.search.search(_query(args, bench.record))
    bench.record.require_open()  # it may have taken long
    citations = _citations(args, found, bench.record)
    citations_id = sha256(_json(citations)).hexdigest()[:16]
    report.paths = frozenset((f"{RAW}/{citations_id}.json", f"{CITATIONS}/{citations_id}.json"))
    report.citations = _keep(bench, citations_id, citations, args, found)
    report.results = len(found.hits)
    _tell(call, found)
    return BrowserSearchResult(results=tuple(map(_result, found.hits)), citations_id=citations_id)


def _salient(args: BrowserSearchArgs) -> dict[str, JsonValue]:
    return args.model_dump(mode="json", exclude_defaults=True)


def _query(args: BrowserSearchArgs, record: RunRecord) -> SearchQuery:
    since, until = None, None
    if args.date_range:
        try:
            since, until = parse_date_range(args.date_range, date.fromisoformat(record.state.opened.as_of))
        except ValueError as error:
            raise CallRefused(
                "invalid_args", f"date_range: {error}", "for example 30d, or 2026-01-01..2026-06-30"
            ) from None
    within_s = args.within_s if isinstance(args, BoundedSearch) else None
    return SearchQuery(args.query, args.top_k, args.include_page, args.allow_domains, since, until, within_s)


def _citations(args: BrowserSearchArgs, found: Found, record: RunRecord) -> dict[str, JsonValue]:
    """What can be cited: the same search with the same answer has the same bytes, and so the same id."""
    return {
        "format": _FORMAT,
        "query": _salient(args),
        "provider": found.provider,
        "as_of": record.state.opened.as_of,
        "top_domains": _top_domains(found.hits),
        "left_out": list(found.left_out),
        "results": [
            {
                "n": number,
                "url": hit.url,
                "title": hit.title,
                "published_at": hit.published_at,
                "snippet": hit.snippet,
                "content_sha256": None if hit.content is None else sha256(hit.content.encode()).hexdigest(),
                "duplicate_of": hit.duplicate_of,
            }
            for number, hit in enumerate(found.hits, 1)
        ],
    }


def _top_domains(hits: tuple[Hit, ...]) -> JsonValue:
    domains = Counter(_domain(hit.url) for hit in hits)
    return [{"domain": domain, "results": number} for domain, number in domains.most_common(_TOP_DOMAINS)]


def _domain(url: str) -> str:
    """The host; of a document without an address, the folder that it lies in."""
    parts = urlsplit(url)
    folder = parts.path.partition("/")[0] if "/" in parts.path else "documents"
    return (parts.hostname or folder).removeprefix("www.")


def _keep(
    bench: Bench, citations_id: str, citations: dict[str, JsonValue], args: BrowserSearchArgs, found: Found
) -> Artifact:
    raw: JsonValue = {
        "retrieved_at": timestamp(bench.home.clock()),
        "provider": found.provider,
        "query": _salient(args),
        "response": found.raw,
    }
    bench.record.workspace.write(f"{RAW}/{citations_id}.json", _json(raw))
    content = _json({"citations_id": citations_id, **citations})
    return bench.record.workspace.write(f"{CITATIONS}/{citations_id}.json", content)


def _json(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode(errors="replace") + b"\n"


def _tell(call: ToolCall, found: Found) -> None:
    did, domains = call.report.did, [_domain(hit.url) for hit in found.hits]
    copies = sum(1 for hit in found.hits if hit.duplicate_of)
    alike = f", {copies} of them nearly the same as another" if copies else ""
    did.append(f"found {count(len(found.hits), 'result')} with {found.provider}{alike}")
    if domains:
        did.append(f"top domains: {names([domain for domain, _ in Counter(domains).most_common()])}")
    if found.left_out:
        did.append("; ".join(found.left_out)[:500])


def _result(hit: Hit) -> SearchResult:
    return SearchResult(
        url=hit.url,
        title=hit.title,
        snippet=hit.snippet,
        published_at=hit.published_at,
        content=hit.content,
        duplicate_of=hit.duplicate_of,
    )


BROWSER_SEARCH = Tool(
    name="browser.search",
    description="Search the web, or the user's own documents, for sources; keeps citations and raw answers.",
    arguments=BrowserSearchArgs,
    result=BrowserSearchResult,
    handler=search,
    effects=frozenset({"write", "world"}),
    is_idempotent=True,
)
