"""The steps of a turn, one file each. A step takes values and the ports it needs, and knows no other step."""
