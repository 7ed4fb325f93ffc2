"""Python newer than the one that runs premortem, made readable: what only later versions accept is written out.

Every replacement has as many bytes and lines as what it replaces, so places stay true. Only what follows from the
text alone is done: f-strings of Python 3.12 become plain strings, type parameters and `type` statements are blanked,
so are the parts of templates, and `except A, B:` gets its parentheses (3.14).
"""

from premortem.lint.patterns import pattern

_START = pattern(rb"(?i)(?<![\w])(?:f|rf|fr|t|rt|tr)(\"\"\"|'''|\"|')")
_OTHER = pattern(rb"(?i)#[^\n]*|(?<![\w])(?:[bru]|br|rb)?(\"\"\"|'''|\"|')")
_PARAMETERS = pattern(rb"(?m)^([ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+)(\[)")
# Names of classes only: `except IOError, e:` is Python 2.
_BARE_EXCEPT = pattern(
    rb"(?m)^([ \t]*except\*?)[ \t]((?:\w+\.)*[A-Z]\w*(?:[ \t]*,[ \t]*(?:\w+\.)*[A-Z]\w*)*,)[ \t]((?:\w+\.)*[A-Z]\w*)([ \t]*:)"
)
_ALIAS = pattern(rb"(?m)^([ \t]*)type([ \t]+\w+[ \t]*(?:\[[^\]\n]*\])?[ \t]*=)")


def older(data: bytes) -> tuple[bytes, tuple[int, int]] | None:
    """The same program for an older Python, and the version it was written for; None when nothing in it is newer."""
    after = _without_type_parameters(data)
    # As many bytes: the parentheses stand in the place of two spaces.
    after, bare = _BARE_EXCEPT.subn(rb"\1(\2\3)\4", after)
    version = (3, 14) if bare else (3, 12)
    found = _plain_strings(after)
    if found is not None:
        after, templates = found
        version = (3, 14) if templates else version
    return (after, version) if after != data else None


def _without_type_parameters(data: bytes) -> bytes:
    out = bytearray(data)
    for match in _PARAMETERS.finditer(data):
        end = _closing(data, match.start(2))
        if end is not None:
            for place in range(match.start(2), end + 1):
                if out[place] not in b"\r\n":
                    out[place] = ord(" ")
    for match in _ALIAS.finditer(data):
        out[match.end(1) : match.end(1) + 4] = b"    "
        # What is assigned may not be indented more than the statement was.
        out[match.start() : match.end()] = _moved(bytes(out[match.start() : match.end()]), match.group(1))
    return bytes(out)


def _moved(text: bytes, indent: bytes) -> bytes:
    rest = text[len(indent) :].lstrip(b" \t")
    name, mark, tail = rest.partition(b"=")
    name = name.partition(b"[")[0].rstrip()
    return indent + (name + b" " * (len(text) - len(indent) - len(name) - 1)) + mark + tail


def _closing(data: bytes, start: int) -> int | None:
    depth = 0
    for place in range(start, min(len(data), start + 2000)):
        depth += (data[place] in b"[(") - (data[place] in b"])")
        if depth == 0:
            return place
    return None


def _plain_strings(data: bytes) -> tuple[bytes, bool] | None:
    """Every f-string and template as a plain string; None where one does not end."""
    out = bytearray(data)
    place, templates = 0, False
    while place < len(data):
        new, other = _START.search(data, place), _OTHER.search(data, place)
        first = min(
            (one for one in (new, other) if one is not None), key=lambda one: one.start(), default=None
        )
        if first is None:
            break
        if first.group(0).startswith(b"#"):
            place = first.end()
            continue
        quote = first.group(1)
        if first is other and first is not new and (new is None or new.start() != first.start()):
            place = _end_of_plain(data, first.end(), quote)
            continue
        end = _end_of_formatted(data, first.end(), quote)
        if end is None:
            return None
        templates = templates or b"t" in first.group(0).lower().rstrip(b"\"'")
        _blank(out, first.start(), first.end(), quote, end)
        place = end
    return bytes(out), templates


def _blank(out: bytearray, start: int, inside: int, quote: bytes, end: int) -> None:
    """`f"{a["b"]}"` as `  "       "`: a plain string of as many bytes and lines."""
    body = bytearray(one if one in b"\r\n" else ord(" ") for one in out[inside : end - len(quote)])
    if len(quote) == 1:
        # Over several lines, each one says that the string goes on.
        for place, one in enumerate(body):
            if one == ord("\n"):
                last = place - 2 if body[max(0, place - 1)] == ord("\r") else place - 1
                if last >= 0 and body[last] == ord(" "):
                    body[last] = ord("\\")
    out[start:end] = b" " * (inside - start - len(quote)) + quote + body + quote


def _end_of_plain(data: bytes, place: int, quote: bytes) -> int:
    while place < len(data):
        if data[place] == ord("\\"):
            place += 2
        elif data.startswith(quote, place):
            return place + len(quote)
        elif len(quote) == 1 and data[place] in b"\n":
            return place
        else:
            place += 1
    return place


def _end_of_formatted(data: bytes, place: int, quote: bytes) -> int | None:
    """Where a string ends whose fields may hold any quotes, strings and lines."""
    while place < len(data):
        if data[place] == ord("\\") or data.startswith((b"{{", b"}}"), place):
            place += 2
        elif data[place] == ord("{"):
            after = _end_of_field(data, place + 1, quote)
            if after is None:
                return None
            place = after
        elif data.startswith(quote, place):
            return place + len(quote)
        elif len(quote) == 1 and data[place] == ord("\n"):
            return None
        else:
            place += 1
    return None


def _end_of_field(data: bytes, place: int, quote: bytes) -> int | None:
    depth = 0
    while place < len(data):
        formatted = _START.match(data, place)
        plain = _OTHER.match(data, place)
        if formatted is not None:
            after = _end_of_formatted(data, formatted.end(), formatted.group(1))
            if after is None:
                return None
            place = after
        elif plain is not None:
            place = (
                plain.end()
                if plain.group(0).startswith(b"#")
                else _end_of_plain(data, plain.end(), plain.group(1))
            )
        elif data[place] in b"([{":
            depth += 1
            place += 1
        elif data[place] == ord("}") and depth == 0:
            return place + 1
        elif data[place] in b")]}":
            depth -= 1
            place += 1
        elif data[place] == ord(":") and depth == 0:
            return _end_of_format(data, place + 1, quote)
        else:
            place += 1
    return None


def _end_of_format(data: bytes, place: int, quote: bytes) -> int | None:
    """After the colon of a field: text and further fields, up to the brace."""
    while place < len(data):
        if data[place] == ord("{"):
            after = _end_of_field(data, place + 1, quote)
            if after is None:
                return None
            place = after
        elif data[place] == ord("}"):
            return place + 1
        elif data.startswith(quote, place):
            return None
        else:
            place += 1
    return None
