from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Config, ConfigRule, Diagnostic, Edit, Entry, Facts, Fix, Severity

# What looks like a number with an exponent, and the part of it that YAML 1.1 accepts as one: it wants a point in
# the mantissa and a sign in the exponent.
_EXPONENT = pattern(r"([-+]?)(\d[\d_]*|\d[\d_]*\.[\d_]*|\.\d[\d_]*)[eE]([-+]?)(\d+)")
_FLOAT_1_1 = pattern(r"[-+]?\d[\d_]*\.[\d_]*[eE][-+]\d+|\.\d[\d_]*[eE][-+]\d+")
_SPECIAL = pattern(r"[-+]?(?:inf|Inf|infinity)|nan|NaN")
_WANTED = pattern(
    rb"""(?mx)
    [:\-\[,]\ *[-+]?[\d.][\d_.]*[eE][-+]?\d+\s*(?:$|[,\]}\#])
    | :\ *(?:None|[-+]?[iI]nf|nan|NaN)\s*(?:$|\#)
    """
)
DEEPEST = 2  # `optim.lr`
# A project with one of these turns such text into numbers, whatever reads the file.
_READS_NUMBERS = frozenset(("resolver", "yacs", "jsonargparse", "typed"))
# Read by other programs, not by the training code.
_OTHER_FILES = pattern(
    r"(?:^|/)(?:\.github|\.gitlab|\.circleci)/|(?:^|/)(?:docker-compose|environment|mkdocs|\.pre-commit|meta|"
    r"conda|codecov|\.travis|_config)[^/]*\.ya?ml$"
)


class NumberReadAsString(ConfigRule):
    """A number that PyYAML reads as text: `1e-4` without a decimal point.

    ## Why it matters
    YAML 1.1, which PyYAML follows, wants a point in the mantissa and a sign in the exponent. `lr: 1e-4` gives the
    string "1e-4". An optimizer refuses it at once; a scheduler, a comparison or a name built from it may not.

    ## Usual causes
    Writing numbers as in Python. OmegaConf, Hydra and ruamel.yaml read them as numbers, so the same file works there.

    ## What to do
    Write `1.0e-4`. `null` is YAML's None, `.inf` and `.nan` are its special numbers.

    ## When it stays silent
    When the project reads YAML with a loader that takes these for numbers, or converts this key itself, as in
    `float(config["lr"])`. A note only where no code is seen to read the key.
    """

    card = Card(
        "PM560", "number-read-as-string", "config", Severity.ERROR, explains=("learning-rate-not-a-number",)
    )

    def wants(self, data: bytes) -> bool:
        return _WANTED.search(data) is not None

    def check(self, config: Config, project: Facts) -> Iterator[Diagnostic]:
        if not config.yaml or _OTHER_FILES.search(config.path.replace("\\", "/")):
            return
        reported: set[str] = set()
        for entry in config.entries:
            # `!!float 1e-4` says what it is.
            if not entry.plain or b"!" in config.data[entry.start : entry.end]:
                continue
            better = _better(entry.text)
            if not better:
                continue
            severity = self._severity(entry, project)
            if severity is None or (entry.name in reported and len(entry.key) > 1):
                continue  # one key of a list of layers is enough
            reported.add(entry.name)
            yield self.report(
                config,
                entry,
                f"PyYAML reads `{'.'.join(entry.key)}: {entry.text}` as text, not as a number"
                if better != "null"
                else f'PyYAML reads `{".".join(entry.key)}: None` as the text "None", which counts as true',
                remedy=f"Write `{better}`.",
                fix=Fix((Edit(entry.end - len(entry.text), entry.end, better),), safe=better != "null"),
                severity=Severity.INFO if better == "null" else severity,
            )

    @staticmethod
    def _severity(entry: Entry, project: Facts) -> Severity | None:
        loaders = project.yaml_loaders
        if loaders & _READS_NUMBERS or (loaders and "pyyaml" not in loaders) or project.converts(entry.name):
            return None
        # An entry of a list, or one far down, is more often the description of something than a setting.
        plain = len(entry.key) <= DEEPEST and not any(part.isdigit() for part in entry.key)
        certain = loaders == {"pyyaml"} and plain and project.reads(entry.key)
        return Severity.ERROR if certain else Severity.INFO


def _better(text: str) -> str:
    """How YAML 1.1 wants this to be written; "" when it is fine as it is."""
    if text == "None":
        return "null"
    if _SPECIAL.fullmatch(text):
        sign = text[0] if text[0] in "+-" else ""
        return sign + (".nan" if text.lower() == "nan" else ".inf")
    found = _EXPONENT.fullmatch(text)
    if found is None or _FLOAT_1_1.fullmatch(text):
        return ""
    sign, mantissa, direction, exponent = found.groups()
    if "." not in mantissa:
        mantissa += ".0"
    elif mantissa.startswith("."):
        mantissa = "0" + mantissa
    return f"{sign}{mantissa}e{direction or '+'}{exponent}"
