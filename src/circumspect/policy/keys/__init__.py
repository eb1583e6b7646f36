"""The keys of the policy file, each with its meaning beside it."""
