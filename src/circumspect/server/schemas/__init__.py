"""What goes over the wire, for the edge only: request bodies are checked by these, answers are made of them.

What `routes/NAME.py` takes and answers is in `NAME.py` here; what all of them have in common is in `bodies.py`. A shape
is written once: an answer is built from a row of the store (`KeyShown.of(row)`), printed by the API and by the command
line, and described in `/openapi.json`, all by the same class. What a turn came to is told by the value itself, wherever
it is used: `TurnResult.to_json`, whose shape is `TurnJson`.
"""
