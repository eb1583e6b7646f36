"""Other people's agent frameworks over the gate, one module a framework.

Each hands the framework's own calls to `Gate.rule`, puts a question where the framework puts its questions, binds the
answer to exactly that call, and runs it through the ledger. None of them is imported unless it is asked for by name.
"""
