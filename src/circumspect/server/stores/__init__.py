"""Tables that only a server has use for: plain functions on a connection."""
