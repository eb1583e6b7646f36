"""The databases of the stores' suite: every test that takes `store` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from tests.stores.conftest import postgres, sqlite_template, store, url

__all__ = ["postgres", "sqlite_template", "store", "url"]
