"""Whose fault it was that Tavily gave no answer, and whether asking again may help."""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from three_tools.errors import BadKey, ProviderDown, QueryRefused, QuotaSpent, SearchError

KEY_REMEDY = "check TAVILY_API_KEY; `partner config` shows where it comes from"
_DOWN_REMEDY = "try again later, or search your own documents: set PARTNER_DOCUMENTS to their folder"
_TLS_REMEDY = "behind a proxy that reads along, set REQUESTS_CA_BUNDLE to the file with its certificate"
_QUOTA_REMEDY = "raise the plan's limit at Tavily, use another key, or set PARTNER_DOCUMENTS to a folder of documents"
_QUERY_REMEDY = "ask in other words: shorter, without operators"
_SPENT = ("plan", "usage limit", "quota", "credit")
"""How Tavily says under 429 that it is not the rate: waiting will not help."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error, and how long to wait before asking again; None: it will not pass."""

    error: SearchError
    wait_s: float | None = None


def of_status(status: int, said: str, retry_after: str, pause_s: float) -> Failure | None:
    """What an answer's status means; None when the status is not what went wrong."""
    words = f": {said}" if said else ""
    if status in (401, 403):
        verdict = "know the key" if status == 401 else "let this key search"
        return Failure(BadKey(f"Tavily does not {verdict}{words}", KEY_REMEDY))
    if status in (432, 433) or (status == 429 and any(word in said.lower() for word in _SPENT)):
        return Failure(QuotaSpent(f"the key's searches at Tavily are used up (status {status}){words}", _QUOTA_REMEDY))
    if status == 429:
        wait_s = wait_asked_for(retry_after, pause_s)
        remedy = f"wait {wait_s:.0f} s, then ask again"
        return Failure(QuotaSpent(f"too many searches at once for Tavily{words}", remedy), wait_s)
    if status >= 500:
        error = ProviderDown(f"Tavily answered with an error of its own (status {status})", _DOWN_REMEDY)
        return Failure(error, wait_asked_for(retry_after, pause_s))
    if status >= 400:
        return Failure(QueryRefused(f"Tavily will not answer this query (status {status}){words}", _QUERY_REMEDY))
    return None


def of_error(error: Exception, timeout_s: float, pause_s: float) -> Failure:
    """What an error means that is not in the status."""
    import requests
    from tavily import errors  # pyright: ignore[reportMissingTypeStubs] -- it ships none

    from three_tools.search.bounded_http import AnswerTooLarge, Redirected

    if isinstance(error, Redirected):
        return _down("Tavily's address points elsewhere, and the key is not carried there")
    if isinstance(error, AnswerTooLarge):
        return _down(f"Tavily's answer is too large: {error}")
    if isinstance(error, errors.TimeoutError | requests.Timeout):
        return _down(f"Tavily was too slow: no whole answer after {timeout_s:g} s")
    if isinstance(error, requests.exceptions.SSLError):
        return Failure(
            ProviderDown("no secure connection to Tavily: its certificate is not one known here", _TLS_REMEDY)
        )
    if isinstance(error, requests.ConnectionError):
        return Failure(ProviderDown("no connection to Tavily, or it broke off", _DOWN_REMEDY), pause_s)
    return _down(f"Tavily's answer cannot be read ({type(error).__name__})")


def wait_asked_for(retry_after: str, otherwise_s: float) -> float:
    """The pause that a Retry-After header names, in seconds or as a moment."""
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return otherwise_s
    return max(0.0, seconds) if seconds == seconds else otherwise_s  # noqa: PLR0124 -- NaN is not itself


def _down(problem: str) -> Failure:
    return Failure(ProviderDown(problem, _DOWN_REMEDY))
