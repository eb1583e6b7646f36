"""`python -m circumspect` is the command `circumspect`."""

from circumspect.cli import main

main()
