"""Tenants as files and as stored: `circumspect apply tenant.yaml`.

Read `file.py` first (what a file says), then `reading.py` (YAML to that, or everything that is wrong with it),
`applying.py` (into the store, or the difference), `building.py` (the tools it names).
"""

from circumspect.tenants.context import ToolContext

__all__ = ["ToolContext"]
