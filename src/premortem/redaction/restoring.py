"""A command line whose secrets were left out, on its way to be started again: the environment may hold them.

--wandb-token [hidden]     WANDB_TOKEN
db.password=[hidden]       DB_PASSWORD
--db postgres://u:[hidden]@h    DB, the whole of it
"""

from collections.abc import Iterator, Mapping, Sequence

from premortem.redaction.memory import HIDDEN

_PLACES = (HIDDEN, "<left out>")  # the second is of earlier versions


def restored(words: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """With those that the environment holds; the others stay left out."""
    return [
        head + variables.get(variable(option), tail) if option else head + tail
        for head, tail, option in _taken_apart(words)
    ]


def missing(words: Sequence[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Options whose values are not known, each with the variable in which it is looked for."""
    absent = {option: variable(option) for _, _, option in _taken_apart(words) if option}
    return {option: name for option, name in absent.items() if name not in variables}


def variable(option: str) -> str:
    """--wandb-token → WANDB_TOKEN, +trainer.api_key → TRAINER_API_KEY"""
    return "".join(char if char.isalnum() else "_" for char in option.lstrip("-+~")).upper()


def _taken_apart(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """What stands before a value, the value, and the option that it is of, where it was left out."""
    before = ""
    for word in words:
        name, equals, value = word.partition("=")
        if not any(place in word for place in _PLACES):
            yield "", word, ""
        elif equals and any(place in value for place in _PLACES) and "://" not in name:
            yield f"{name}=", value, name
        else:
            yield "", word, before
        before = word if word.startswith("-") and not equals else ""
