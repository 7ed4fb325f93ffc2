"""A value in words that are the same in another process: no address of memory is in them."""

import functools
import hashlib
import re
from types import CodeType, FunctionType, MethodType
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DEPTH = 6


def described(value: Any, depth: int = 0) -> str:
    """Like `repr`; functions by their name, those without one by their code."""
    if depth < _DEPTH:
        if isinstance(value, FunctionType):
            nameless = f" {_code(value.__code__)}" if value.__name__ == "<lambda>" else ""
            return f"{value.__qualname__}{nameless}"
        if isinstance(value, MethodType):
            return f"{described(value.__func__, depth + 1)} of {type(value.__self__).__qualname__}"
        if isinstance(value, functools.partial):
            parts = [described(part, depth + 1) for part in (value.func, value.args, value.keywords)]
            return f"partial({', '.join(parts)})"
        if type(value) in {list, tuple}:
            inside = ", ".join(described(part, depth + 1) for part in value)
            return f"[{inside}]" if type(value) is list else f"({inside})"
        if type(value) is dict:
            pairs = (f"{described(k, depth + 1)}: {described(v, depth + 1)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
    return _ADDRESS.sub("", repr(value))


def _code(code: CodeType) -> str:
    constants = [_constant(each) for each in code.co_consts]
    whole = repr((code.co_code, constants, code.co_names, code.co_varnames))
    return hashlib.blake2b(whole.encode(), digest_size=4).hexdigest()


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return _code(value)
    # The order of a set of words is another one in each process.
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
