"""How the local server writes to its database."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from prefect.server.database.configurations import AioSqliteConfiguration
from prefect.server.database.dependencies import MODELS_DEPENDENCIES
from sqlalchemy.ext.asyncio import AsyncSession, AsyncSessionTransaction


class WritersTakeTurns(AioSqliteConfiguration):
    """A transaction that will write waits for the one before it.

    Prefect begins most of them as readers. Of two that then want to write, SQLite tells one at once that the database
    is locked, and its client has to ask again, seconds later.
    """

    @asynccontextmanager
    async def begin_transaction(
        self,
        session: AsyncSession,
        with_for_update: bool = False,  # noqa: ARG002  (Prefect's)
    ) -> AsyncGenerator[AsyncSessionTransaction]:
        async with super().begin_transaction(session, with_for_update=True) as transaction:
            yield transaction


def use_database(url: str) -> None:
    """Before the application is made."""
    MODELS_DEPENDENCIES["database_config"] = WritersTakeTurns(url)
