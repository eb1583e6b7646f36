"""What a message wants and which way the turn goes: the form, the five ways, how sure that makes us."""
