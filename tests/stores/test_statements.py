"""Rows that go to the driver in one statement, on both databases."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from circumspect.stores import SqlStore
from circumspect.stores.statements import insert
from circumspect.stores.tables import plans


@pytest.mark.parametrize("rows", [1, 3, 501], ids="{} rows".format)
async def test_every_row_has_its_own_values_and_the_common_ones(store: SqlStore, rows: int) -> None:
    def write(connection: sa.Connection) -> list[tuple[str, str, float]]:
        insert(
            connection,
            plans,
            *({"name": f"100 % {number:03}", "multiplier": number / 2} for number in range(rows)),
            common={"mode": "standard"},
        )
        named = plans.c.name.like("100 \\%%", escape="\\")
        query = sa.select(plans.c.name, plans.c.mode, plans.c.multiplier).where(named).order_by(plans.c.name)
        return [(row.name, row.mode, row.multiplier) for row in connection.execute(query)]

    assert await store.tx(write) == [(f"100 % {number:03}", "standard", number / 2) for number in range(rows)]


async def test_rows_that_are_there_are_dealt_with_as_it_says(store: SqlStore) -> None:
    def write(connection: sa.Connection) -> str:
        for mode in ("standard", "adaptive"):
            insert(
                connection,
                plans,
                {"name": "own", "mode": mode, "multiplier": 1.0},
                otherwise="ON CONFLICT (name) DO UPDATE SET mode = plans.mode || ' 50 % ' || excluded.mode",
            )
        return str(connection.execute(sa.select(plans.c.mode).where(plans.c.name == "own")).scalar_one())

    assert await store.tx(write) == "standard 50 % adaptive"
