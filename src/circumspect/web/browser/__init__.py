"""Web pages as an agent sees them: snapshots, what an action should bring about, whether it did, and a browser."""
