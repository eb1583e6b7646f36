"""What may happen: pure rules over frozen facts, and the file in which the application says what it wants."""
