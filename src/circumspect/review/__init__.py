"""The reviewer: cases against the criteria of a policy, with quotes that are really there.

    shelf = Shelf([read_document(path.read_bytes(), path.name)])
    result = await review(case, criterion, shelf, Reviewing(model=open_model("openai:gpt-4o")))

Read `controller.py` first (a model drives, code checks), then `citations.py` (what may be quoted), then `heuristic.py`
(the same with no model). Every door, the command line, the batch and the API, calls `reviewing.review`.
"""
