"""What a model is good for, before it is trusted: messages to a sample shop, and what a turn makes of its answers."""
