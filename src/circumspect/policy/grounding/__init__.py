"""Where the values and wishes of a call come from: spans of the conversation, strangers' texts, claims."""
