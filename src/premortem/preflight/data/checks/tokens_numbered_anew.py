from itertools import combinations
from typing import Any

from premortem.preflight.data.data_facts import Stream
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_ALIKE = 0.95  # correlation of the frequencies in order of size
_OTHER = 0.5  # ... and token by token
_FEWEST = 2000  # tokens


class TokensNumberedAnew(Check):
    """Two files of tokens use the same numbers as often, but for other tokens.

    ## Why it matters
    The evaluation is a text in a secret script. Nothing crashes: the numbers are all in the vocabulary.

    ## Usual causes
    Two runs of a tokenizer that numbers words as they come; a vocabulary that was sorted since.

    ## What to do
    Tokenise both with one vocabulary, and store its checksum beside the files.

    ## When it stays silent
    When the frequencies themselves differ (another language, other texts), and when they are too even to tell tokens apart.
    """

    card = Card("PM711", "tokens-numbered-anew", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        used = [s for s in root.streams if s.split and facts.reads(s.path) and s.tokens >= _FEWEST]
        for one, two in combinations(used, 2):
            if "train" not in (one.split, two.split) or one.split == two.split:
                continue
            same, sizes = compared(one, two)
            if sizes > _ALIKE and same < _OTHER:
                yield self.finding(
                    f"tokens of `{one.path}` and `{two.path}` are numbered differently: frequencies agree in order of size "
                    f"(correlation {sizes:.2f}), and not token by token ({same:.2f})",
                    cause="The two files were tokenised with different numbers.",
                    remedy="Tokenise both with one vocabulary.",
                    files=[one.path, two.path],
                )


def compared(one: Stream, two: Stream) -> tuple[float, float]:
    """How the frequencies of both go together, token by token and in order of size. Even ones say nothing."""
    import numpy as np

    width = max(len(one.counts), len(two.counts))
    made: list[Any] = []
    for stream in (one, two):
        counts = np.zeros(width)
        counts[: len(stream.counts)] = stream.counts
        made.append(np.log(counts / counts.sum() + 1e-4))
    if min(each.std() for each in made) < 0.3:
        return 1.0, 0.0
    return float(np.corrcoef(*made)[0, 1]), float(np.corrcoef(np.sort(made[0]), np.sort(made[1]))[0, 1])
