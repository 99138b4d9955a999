"""`python -m isonn`: the command line, where no script is on the path."""

from isonn.cli import main

main()
