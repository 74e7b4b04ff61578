"""The program `mumon`, also as `python -m mumon`."""

import signal


def main() -> None:
    """Run the command line; Ctrl-C while modules are still being loaded ends it silently."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from mumon.cli import main as run

    run()


if __name__ == "__main__":
    main()
