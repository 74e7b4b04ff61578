"""The program `mumon`, also as `python -m mumon`."""

import gc
import signal

COLLECT_AFTER = 50_000  # new objects; importing modules makes a quarter of a million, none of them unused


def main() -> None:
    """Run the command line; Ctrl-C while modules are still being loaded ends it silently."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(COLLECT_AFTER)
    from mumon.cli import main as run

    try:
        run()
    finally:
        gc.freeze()  # before it exits, Python would search all modules for unused objects: 0.4 s after a training


if __name__ == "__main__":
    main()
