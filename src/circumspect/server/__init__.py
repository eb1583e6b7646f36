"""The HTTP server: many tenants, many workers. Imports nothing here, so that the command starts quickly."""
