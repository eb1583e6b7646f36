"""The operators' queries on PostgreSQL, rewritten exactly as the guide says."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.docs.pages import ROOT, blocks
from tests.stores import postgres_server

from circumspect.stores import SqlStore


@pytest.mark.postgres
def test_the_queries_of_the_operators_guide_run_on_postgresql_once_the_dates_are_rewritten():
    import psycopg

    queries = [block.text for block in blocks(ROOT / "docs" / "guide-operators.md") if block.kind == "sql"]
    assert len(queries) >= 8
    try:
        with postgres_server.running() as server:
            asyncio.run(_made(server.url("postgres")))
            with psycopg.connect(server.url("postgres")) as connection:
                for query in queries:
                    dated = re.sub(r"\bdate\((\S+), 'unixepoch'\)", r"to_timestamp(\1)::date", query)
                    connection.execute(
                        re.sub(r"\bdatetime\((\S+), 'unixepoch'\)", r"to_timestamp(\1)", dated)
                    ).fetchall()
    except postgres_server.NoPostgres as reason:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {reason}")


async def _made(url: str) -> None:
    await (await SqlStore.open(url)).close()
