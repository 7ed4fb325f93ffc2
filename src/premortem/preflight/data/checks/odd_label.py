from premortem.preflight.data.data_facts import DataFacts, Look, Root
from premortem.preflight.data.unit import Card, Certainty, Check, Findings, Severity, looks_of

_IGNORED = {-1, -100, 255}  # what people write for "no label"
_RARE = 0.01
_FEWEST = 50  # rows


class OddLabel(Check):
    """A label far outside the numbers that all the others have.

    ## Why it matters
    On a GPU a class number that the network does not have ends the run with a device-side assertion that names no row; in
    code that takes the number of classes from the largest label, it makes the last layer a hundred times too large.

    ## Usual causes
    A typing error; a code for "unknown"; two tables with different numbering put together.

    ## What to do
    Look at the named rows. Where the number means "ignore", hand it to the loss as `ignore_index`.
    """

    card = Card("PM671", "odd-label", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for look in (look for look in looks_of(root) if look.labels):
            odd = _odd(look)
            if odd is not None:
                label, number, largest = odd
                yield self.finding(
                    f"{number:,} {'row' if number == 1 else 'rows'} of `{look.path}` "
                    f"{'has' if number == 1 else 'have'} the label {label}; all the others are 0 to {largest}",
                    cause="It is a typing error, or a code that does not stand for a class.",
                    remedy="Correct the rows, or give the loss this number as `ignore_index`.",
                    certainty=Certainty.SUSPECTED,
                    label=label,
                    rows=number,
                )


def _odd(look: Look) -> tuple[int, int, int] | None:
    """Classes 0 to K without a gap, and one number that is far away from them and rare."""
    try:
        counts = {int(value): number for value, number in look.labels}
    except ValueError:
        return None
    whole = sum(counts.values())
    usual = sorted(value for value in counts if value not in _IGNORED and value >= 0)
    far = [value for value in counts if value < 0 and value not in _IGNORED]
    if len(usual) > 2 and usual[-1] > 2 * usual[-2] and usual[-1] > usual[-2] + 2:
        far.append(usual.pop())
    gapless = len(usual) >= 2 and usual == list(range(len(usual)))
    if len(far) != 1 or not gapless or whole < _FEWEST or counts[far[0]] > max(1, _RARE * whole):
        return None
    return far[0], counts[far[0]], usual[-1]
