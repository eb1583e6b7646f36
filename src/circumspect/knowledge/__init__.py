"""Documents and search: files to section trees, trees to passages, passages to conflicts."""
