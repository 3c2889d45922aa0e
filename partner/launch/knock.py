"""Asking what listens on a port whether it is our server, without telling it the secret."""

import hashlib
import hmac
import http.client
import secrets
from contextlib import closing
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError

PATH = "/.partner/server"
_PATIENCE_S = 3.0
_MAX_BYTES = 4096


class Answer(BaseModel):
    """What our server says of itself to whoever knocks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    proof: str = Field(description="The knock's nonce and this port, signed with the secret of the home.")
    pid: int = Field(description="The server's process.")
    prefect: str = Field(description="The version of Prefect that it runs.")
    up_s: float = Field(description="How long it has been answering.")


def knock(port: int, auth: str, *, means_use: bool) -> Answer | None:
    """What our server on this port says; None when nothing answers there, or something else does.

    A knock that means use keeps an idle server from ending just then.
    """
    nonce = secrets.token_urlsafe(16)
    query = urlencode({"nonce": nonce, "use": int(means_use)})
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)) as connection:
            connection.request("GET", f"{PATH}?{query}")
            answer = Answer.model_validate_json(connection.getresponse().read(_MAX_BYTES))
    except (OSError, http.client.HTTPException, ValidationError):
        return None
    return answer if hmac.compare_digest(answer.proof, proof(nonce, port, auth)) else None


def proof(nonce: str, port: int, auth: str) -> str:
    return hmac.new(auth.encode(), f"partner\0{port}\0{nonce}".encode(), hashlib.sha256).hexdigest()
