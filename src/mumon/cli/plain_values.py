"""How plain words of the command line become values: strings and whole numbers, without typer's detour.

Recent versions of typer convert every option with pydantic, also those that were left out. Loading it takes a quarter
of the time before a command begins. What is plain is converted here; all else, and everything that is wrong, is left to
typer, whose messages stay.
"""

from __future__ import annotations

import functools
from typing import Any

NOT_PLAIN = object()
DIGITS = 18  # of a number that is certainly no special case


def convert_plainly(parameters: list[Any]) -> list[Any]:
    """Let the parameters of a command convert plain values themselves.

    Parameters
    ----------
    parameters
        Typer's options and arguments, which are changed. Those of versions without pydantic stay as they are.

    Returns
    -------
    list
        The same parameters.
    """
    for parameter in parameters:
        kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
        if kind is not None and "process_value" not in vars(parameter):
            parameter.process_value = functools.partial(_process, parameter, parameter.process_value, kind)
    return parameters


def _process(parameter: Any, by_typer: Any, kind: Any, ctx: Any, value: Any) -> Any:
    """Convert the value of a parameter and call its callback, as typer would; leave to typer what is not plain."""
    converted = _convert(parameter, kind, value)
    if converted is NOT_PLAIN:
        return by_typer(ctx, value)
    return converted if parameter.callback is None else parameter.callback(ctx, parameter, converted)


def _convert(parameter: Any, kind: Any, value: Any) -> Any:
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    if value is None:
        return NOT_PLAIN if parameter.required else () if several else None
    if several:
        plain = kind == list[str] and isinstance(value, list | tuple) and set(map(type, value)) == {str}
        return list(value) if plain else NOT_PLAIN
    if kind is str and type(value) is str:
        return value
    digits = type(value) is str and value.isascii() and value.isdigit() and len(value) <= DIGITS
    if kind is int and (digits or type(value) is int):  # a default is a number already
        limits = parameter.type_descriptor.parameter_info
        if limits.max is None and not limits.clamp and int(value) >= (limits.min or 0):
            return int(value)
    return NOT_PLAIN
