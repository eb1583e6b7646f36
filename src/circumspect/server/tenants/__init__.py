"""Tenants as files and as stored: `circumspect apply tenant.yaml`.

Read `tenant_file.py` first (what a file says), then `read_tenant_file.py` (YAML to that, or everything that is wrong
with it), `server/apply_tenant.py` (into the store, or the difference), `tool_building.py` (the tools it names).
"""
