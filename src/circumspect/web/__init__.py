"""Web pages and browsers: what a page is, acting on it, and knowing, searching, asking or acting before that."""
