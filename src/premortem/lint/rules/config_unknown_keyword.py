import difflib
from collections.abc import Iterator

from premortem.lint import signatures
from premortem.lint.names import public
from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Config, ConfigRule, Diagnostic, Entry, Facts, Severity
from premortem.lint.target import UNKNOWN, Pin

TARGET = "_target_"
# Hydra's own keys: they do not reach what is called.
RESERVED = frozenset("_target_ _partial_ _recursive_ _convert_ _args_ _name_ defaults".split())
WANTED = pattern(
    rb"_target_[\"']?\s*:\s*[\"']?(torch|torchvision|torchaudio|lightning|pytorch_lightning|transformers|accelerate)\."
)


class ConfigUnknownKeyword(ConfigRule):
    """A Hydra config gives a keyword that the class under `_target_` does not take.

    ## Why it matters
    `hydra.utils.instantiate` passes every key of the mapping on. The class raises TypeError, wrapped in an error about
    the config, when the object is built: for a scheduler or a logger that can be late.

    ## Usual causes
    The keyword was removed: schedulers lost `verbose` in torch 2.7, `Trainer` lost `gpus` in Lightning 2.0. Or it is
    misspelled, or a setting of the program's own was put into the mapping.

    ## What to do
    Remove the key, or use the one the message names.

    ## When it stays silent
    For keys that begin with an underscore, for a `_target_` that is an interpolation or is not in the tables, and for
    classes that take any keyword.
    """

    card = Card("PM585", "config-unknown-keyword", "api-drift", Severity.ERROR, preview=True)
    triggers = (TARGET.encode(),)

    def wants(self, data: bytes) -> bool:
        return TARGET.encode() in data and WANTED.search(data) is not None

    def check(self, config: Config, project: Facts) -> Iterator[Diagnostic]:
        targets = {
            entry.key[:-1]: entry.text.strip() for entry in config.entries if entry.key[-1:] == (TARGET,)
        }
        for place, name in targets.items():
            symbol = signatures.find(public(name))
            if symbol is None:
                continue
            pin = (project.target or UNKNOWN).pin(signatures.distribution_of(name))
            for keyword, entry in _keys(config, place).items():
                if pin.newest and signatures.accepts([symbol.name], keyword, pin.newest) is False:
                    yield self._refusal(config, entry, keyword, symbol, pin)

    def _refusal(
        self, config: Config, entry: Entry, keyword: str, symbol: signatures.Symbol, pin: Pin
    ) -> Diagnostic:
        last = symbol.name.rpartition(".")[2]
        known = symbol.keywords(pin.newest or pin.minors[-1])
        near = difflib.get_close_matches(keyword, known, n=1, cutoff=0.7)
        gone = signatures.gone_since(symbol, keyword)
        older = [m for m in pin.minors if signatures.accepts([symbol.name], keyword, m) is not False]
        if gone is not None:
            version = f"{pin.distribution} {gone[0]}.{gone[1]}"
            tail = f", which {pin} allows" if older else f"; the version here is {pin}"
            message = f"`{last}` lost the keyword `{keyword}` in {version}{tail}"
        else:
            message = f"`{last}` has no keyword `{keyword}` in {pin}"
        return self.report(
            config,
            entry,
            message,
            remedy=f"Did you mean `{near[0]}`?" if near else f"Remove `{keyword}`.",
            severity=Severity.WARNING if older else Severity.ERROR,
        )


def _keys(config: Config, place: tuple[str, ...]) -> dict[str, Entry]:
    """The keys of the mapping at this place that are passed on, each with the first value under it."""
    found: dict[str, Entry] = {}
    depth = len(place)
    for entry in config.entries:
        if len(entry.key) > depth and entry.key[:depth] == place:
            key = entry.key[depth]
            if key not in RESERVED and not key.startswith("_") and key.isidentifier():
                found.setdefault(key, entry)
    return found
