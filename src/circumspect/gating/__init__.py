"""What stands behind `Gate`: a conversation of somebody else's, the decision about one call, and where it is kept."""
