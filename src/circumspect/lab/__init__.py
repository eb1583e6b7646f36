"""Working with conversations that already happened: audit, backtest, experiments. Nothing here talks to a model."""
