"""A small patient administration to drive a browser through: menus, forms, dialogs, slow pages, and a page that lies.

`python -m examples.clinic` serves it; `serve()` serves a fresh one in a thread, for tests and demonstrations.
"""

from examples.clinic.app import app
from examples.clinic.serving import Served, serve
from examples.clinic.state import State

__all__ = ["Served", "State", "app", "serve"]
