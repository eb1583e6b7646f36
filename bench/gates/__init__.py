"""The same forty proposed calls through our gate and through what others offer."""
