"""A second configuration beside or instead of the live one: variants, shadow, experiments, their statistics."""
