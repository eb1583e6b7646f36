"""Transcripts of any agent, ruled on with no model: reading, auditing, reporting, a first policy."""
