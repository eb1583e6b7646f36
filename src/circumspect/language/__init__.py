"""Everything that depends on a human language."""
