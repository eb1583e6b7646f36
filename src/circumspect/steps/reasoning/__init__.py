"""The parts of the step `reason`. They ask models and searches; what is pure about it is in `policy.reasoning`."""
