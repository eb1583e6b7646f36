"""Agent servers answering the same message, with the same provider behind them, each in processes of its own."""
