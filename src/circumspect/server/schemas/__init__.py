"""What goes over the wire, for the edge only: request bodies are checked by these, answers are described by them.

What `routes/NAME.py` takes and answers is in `NAME.py` here; what all of them have in common is in `bodies.py`. Answers
are built as plain dictionaries from our own values and written by orjson; a test holds them against what is described.
"""
