"""`python -m mumon`."""

from mumon.cli import main

if __name__ == "__main__":
    main()
