"""Where turns are written down: `SqlStore`, over SQLite by default and PostgreSQL by URL."""

from circumspect.stores.admin import UsageRow
from circumspect.stores.people import EscalationRow, EscalationState, StoredConversation
from circumspect.stores.sql import SqlStore

__all__ = ["EscalationRow", "EscalationState", "SqlStore", "StoredConversation", "UsageRow"]
