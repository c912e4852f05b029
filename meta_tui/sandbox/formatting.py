"""`str.format` that reads attributes through the guards.

A replacement field can read attributes and items (`{0.x[1]}`), natively and so without a guard. A
format string without a dot or bracket in a field goes to Python's own method; the others are
formatted here, with the same rules and the same errors.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]
from collections.abc import Callable, Mapping
from typing import Any


def safe(method: Any) -> Callable[..., str]:
    """A guarded stand-in for `str.format` or `str.format_map`, bound to a string or not."""
    by_mapping = method.__name__ == "format_map"
    text = getattr(method, "__self__", None)

    def bound(*arguments: Any, **names: Any) -> str:
        return _run(text, by_mapping, arguments, names)

    def unbound(self: Any, /, *arguments: Any, **names: Any) -> str:
        return _run(self, by_mapping, arguments, names)

    return bound if isinstance(text, str) else unbound


def _run(text: Any, by_mapping: bool, arguments: tuple[Any, ...], names: Mapping[str, Any]) -> str:
    if not isinstance(text, str):
        raise TypeError(
            f"descriptor 'format' for 'str' objects doesn't apply to a '{type(text).__name__}' object"
        )
    plain = str.__str__(text)
    if by_mapping:
        if len(arguments) != 1 or names:
            raise TypeError("format_map() takes exactly one argument")
        mapping = arguments[0]
        return _Fields((), mapping).fill(plain, 2) if _reaches(plain) else str.format_map(plain, mapping)
    return (
        _Fields(arguments, names).fill(plain, 2)
        if _reaches(plain)
        else str.format(plain, *arguments, **names)
    )


def _reaches(text: str) -> bool:
    for _, field, spec, _ in _string.formatter_parser(text):
        if field and ("." in field or "[" in field):
            return True
        if spec and "{" in spec and _reaches(spec):
            return True
    return False


class _Fields:
    """The arguments of one call, and the automatic numbering."""

    def __init__(self, arguments: tuple[Any, ...], names: Mapping[str, Any]) -> None:
        self.arguments = arguments
        self.names = names
        self.next: int | None = None

    def fill(self, text: str, depth: int) -> str:
        """The text with its fields replaced; `depth` bounds nested specifications."""
        if depth < 0:
            raise ValueError("Max string recursion exceeded")
        parts: list[str] = []
        for literal, field, spec, conversion in _string.formatter_parser(text):
            parts.append(literal)
            if field is not None:
                value = _converted(self._value(field), conversion)
                parts.append(format(value, self.fill(spec or "", depth - 1)))
        return "".join(parts)

    def _value(self, field: str) -> Any:
        from meta_tui.sandbox.guards import look

        first, rest = _string.formatter_field_name_split(field)
        value = self._first(first)
        for is_attribute, name in rest:
            value = look(value, name) if is_attribute else value[name]
        return value

    def _first(self, first: Any) -> Any:
        if first == "":
            if self.next is None:
                self.next = 0
            first, self.next = self.next, self.next + 1
        elif isinstance(first, int) and self.next is not None:
            raise ValueError("cannot switch from automatic field numbering to manual field specification")
        if not isinstance(first, int):
            return self.names[first]
        if first >= len(self.arguments):
            raise IndexError(f"Replacement index {first} out of range for positional args tuple")
        return self.arguments[first]


def _converted(value: Any, conversion: str | None) -> Any:
    match conversion:
        case None:
            return value
        case "s":
            return str(value)
        case "r":
            return repr(value)
        case "a":
            return ascii(value)
    raise ValueError(f"Unknown conversion specifier {conversion!r}")
