"""Running the page: a port to listen at, the address to open, and a clean end."""

from __future__ import annotations

import errno
import ipaddress
import os
import signal
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from typing import Any

from mumon.errors import OptionError
from mumon.utils.signals import Interrupted

DEFAULT_PORT = 8765
MORE_PORTS = 20  # tried after the default port, before any that is free


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to a host.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int | None = None) -> socket.socket:
    """Open a socket that listens at a port.

    Parameters
    ----------
    host
        A name or address of this machine.
    port
        The port, where 0 means any that is free. Without one, `DEFAULT_PORT` or the next that is free.

    Returns
    -------
    socket
        It accepts connections from now on, before the server runs.

    Raises
    ------
    OptionError
        If the port cannot be listened at.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port or DEFAULT_PORT, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise OptionError(
            f"{host!r} is not an address of this machine; use 127.0.0.1, or 0.0.0.0 for all of them"
        ) from None
    for number in (*range(DEFAULT_PORT, DEFAULT_PORT + MORE_PORTS + 1), 0) if port is None else (port,):
        listener = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":  # do not wait for ended connections; on Windows, others could take the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address[0], number, *address[2:]))
            listener.listen(128)  # browsers can connect from now on and wait until the server runs
            return listener
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                reason = error.strerror or str(error)
                raise OptionError(f"{host} port {number} cannot be listened at ({reason}); use another") from None
    if port:
        raise OptionError(f"port {port} is taken; choose another --port, or leave it out for one that is free")
    raise OptionError(f"no port of {host} is free; end another program")


def find_address(listener: socket.socket) -> str:
    """Return the address to type into a browser on this machine."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def has_screen() -> bool:
    """Return whether a browser would open in front of the user; over ssh it might fill the terminal."""
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def open_browser(url: str) -> None:
    """Open a browser without waiting for it."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def run(application: Any, listener: socket.socket) -> None:
    """Serve until Ctrl-C, which is the normal end of this command; other signals end it as any other program."""
    try:  # the address is already on the screen, so Ctrl-C may come while the server is loading
        import uvicorn

        config = uvicorn.Config(
            application,
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        uvicorn.Server(config).run(sockets=[listener])
    except Interrupted as stopped:
        if stopped.signum != signal.SIGINT:
            raise
        if sys.stderr.isatty():  # the terminal shows ^C; the prompt should not follow it on the same line
            with suppress(OSError):
                print(file=sys.stderr, flush=True)
    finally:
        listener.close()
