"""`python -m mumon`."""

from mumon.cli import main

main()
