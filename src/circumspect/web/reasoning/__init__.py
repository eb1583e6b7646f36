"""Know, search, ask or act: the words, the routing table, the forms that a model fills in."""
