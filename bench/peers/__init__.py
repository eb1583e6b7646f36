"""Other frameworks doing the same work, each with its own fake model, its own approval and the storage its docs show.

Where a framework leaves a choice, the faster one was taken: no tracing, no network, connections kept open.
"""
