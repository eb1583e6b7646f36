"""What was said, read carefully: a model's assessment and critique, a user's yes or no, wishes."""
