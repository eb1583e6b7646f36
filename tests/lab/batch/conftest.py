"""Recorded conversations that are large enough to be divided."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bench.recordings import play, replicate
from tests.stores.conftest import postgres  # noqa: F401

POLICY = """
version: 1
tools:
  cancel_order:
    effect: destructive
    deny_unless:
      - if: facts.get_order_status[args.order_id].status == 'processing'
        because: It has left the warehouse.
  refund: {effect: destructive, confirm: always}
  update_address: {effect: write, confirm: when_implied}
  book_appointment: {effect: write, confirm: always, limits: [{count: 3, window: 1h}]}
  get_order_status: {effect: read}
  check_inventory: {effect: read}
"""


@pytest.fixture(scope="session")
def recordings(tmp_path_factory) -> Path:
    """Some conversations with the sample shop, really played, and many copies of them: five chunks' worth."""
    path = tmp_path_factory.mktemp("recorded") / "recordings.db"
    asyncio.run(play(path, 20))
    _, conversations = replicate(path, 1500)
    assert 400 < conversations <= 500
    return path


@pytest.fixture
def policy(tmp_path) -> Path:
    path = tmp_path / "new.yaml"
    path.write_text(POLICY, "utf-8")
    return path
