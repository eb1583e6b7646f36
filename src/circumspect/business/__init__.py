"""The tools of a service business: CRM, calendar, mail. `business_tools(config)` gives them to an agent.

Without accounts they work on files in one folder: a SQLite CRM and calendar, and mail written to an outbox. With
settings they speak open protocols: CalDAV, SMTP, HTTP and JSON. Client libraries are loaded when they are needed.
"""

from circumspect.business.factory import business_tools
from circumspect.business.settings import BusinessConfig, CalDav, RestCrm, Smtp

__all__ = ["BusinessConfig", "CalDav", "RestCrm", "Smtp", "business_tools"]
