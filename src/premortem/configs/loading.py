"""A configuration file as the object that a program wants, or every mistake in it with its line."""

import dataclasses
import os
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from premortem.configs.binding import Binder, Key, Mistake
from premortem.configs.places import Broken
from premortem.configs.reading import read
from premortem.errors import ConfigError

Schema = TypeVar("Schema")


def load_config(path: str | os.PathLike[str], schema: type[Schema]) -> Schema:
    r"""Reads YAML, TOML or JSON into a dataclass or a pydantic model. All mistakes are reported at once, as file:line: key.

    ## Why it matters
    To the common YAML loader `lr: 1e-4` is text, because YAML 1.1 wants `1.0e-4`; `no` is False, and `learning_rte: 0.1` is a key that
    no code reads while the default is used. Here numbers are those of YAML 1.2, an unknown key is a mistake and says which one
    is near, and a value of the wrong type is reported before anything is built from it.

    ## Example
    >>> import dataclasses, pathlib, tempfile
    >>> from premortem.configs import load_config  # also premortem.parts.load_config; this one needs no torch
    >>> @dataclasses.dataclass
    ... class Config:
    ...     lr: float
    ...     betas: tuple[float, float] = (0.9, 0.999)
    ...     epochs: int = 10
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "config.yaml")
    >>> _ = file.write_text("lr: 1e-4\nepochs: 1e2\n")
    >>> load_config(file, Config)
    Config(lr=0.0001, betas=(0.9, 0.999), epochs=100)
    >>> _ = file.write_text("lr: '1e-4'\nepoch: 20\n")
    >>> try:
    ...     load_config(file, Config)
    ... except Exception as error:
    ...     print(str(error).replace(folder.name + "/", ""))
    config.yaml has 2 mistakes:
      config.yaml:1: lr is the text '1e-4', but must be a number: leave the quotes out
      config.yaml:2: epoch: there is no such key; did you mean epochs?
    >>> folder.cleanup()

    ## What fits
    Nested dataclasses, `Optional` and unions, lists, tuples, dictionaries, `Literal`, enumerations (by name or value) and paths.
    A whole number is taken where a float is wanted, and `1e5` where an int is; nothing else is converted. A pydantic model
    does its own conversions, and its messages get file and line.
    """
    file = Path(path)
    try:
        found = read(file)
    except Broken as broken:
        raise ConfigError(f"{file}:{broken.line}: {broken}") from None
    binder = Binder()
    bound: Any = None
    if hasattr(schema, "model_validate"):
        bound = _pydantic(found.data, schema, binder)
    elif dataclasses.is_dataclass(schema):
        bound = binder.bind(found.data, schema)
    else:
        raise TypeError(f"load_config needs a dataclass or a pydantic model, not {schema!r}")
    if binder.mistakes:
        raise ConfigError(
            _listed(file, [(found.line(_without_items(m.key, found.lines)), m) for m in binder.mistakes])
        )
    return typing.cast("Schema", bound)


def _pydantic(data: Any, schema: Any, binder: Binder) -> Any:
    if isinstance(data, dict):
        _unknown(data, schema, (), binder)
    try:
        bound = schema.model_validate(data)
    except Exception as error:
        if not hasattr(error, "errors"):
            raise
        known = {mistake.key for mistake in binder.mistakes}
        for each in error.errors():
            key = tuple(map(str, each["loc"]))
            missing = each["type"] == "missing"
            if key not in known:
                text = f"{key[-1]} is missing" if missing else each["msg"][:1].lower() + each["msg"][1:]
                binder.mistakes.append(Mistake(key[:-1] if missing else key, text))
        return None
    return bound


def _unknown(data: Mapping[str, Any], model: Any, key: Key, binder: Binder) -> None:
    """pydantic ignores unknown keys unless the model forbids them."""
    if model.model_config.get("extra") == "allow":
        return
    fields = model.model_fields
    names = {name for name, field in fields.items()} | {
        field.alias for field in fields.values() if field.alias
    }
    binder.unknown(data, sorted(names), key)
    for name, field in fields.items():
        value = data.get(field.alias or name, data.get(name))
        for kind in (field.annotation, *typing.get_args(field.annotation)):
            if isinstance(value, dict) and hasattr(kind, "model_fields"):
                _unknown(value, kind, (*key, field.alias or name), binder)
                break


def _without_items(key: Key, lines: Mapping[Key, int]) -> Key:
    """The numbers of items, where the lines are known without them (tables of TOML)."""
    bare = tuple(part for part in key if not part.isdigit())
    return bare if key not in lines and bare in lines else key


def _listed(file: Path, mistakes: list[tuple[int, Mistake]]) -> str:
    sentences = [
        f"{file}:{line}: {_sentence('.'.join(mistake.key), mistake.text)}"
        for line, mistake in sorted(mistakes, key=lambda each: each[0])
    ]
    if len(sentences) == 1:
        return sentences[0]
    return "\n  ".join([f"{file} has {len(sentences)} mistakes:", *sentences])


def _sentence(key: str, text: str) -> str:
    if not key:
        return text
    return f"{key} {text}" if text.startswith(("is ", "has ")) else f"{key}: {text}"
