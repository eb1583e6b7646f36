"""Where turns are written down: `SqlStore`, over SQLite by default and PostgreSQL by URL."""

from circumspect.stores.admin import ConversationRow, UsageRow
from circumspect.stores.people import EscalationRow, EscalationState
from circumspect.stores.sql import SqlStore

__all__ = ["ConversationRow", "EscalationRow", "EscalationState", "SqlStore", "UsageRow"]
