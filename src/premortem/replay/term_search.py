"""Which term of the loss it takes."""

from typing import Any

from premortem.changes import Change
from premortem.changes.loss_terms import Term
from premortem.replay.case import Case, Outcome, Trials, not_tried, role_of

_MOST_TRIED = 6


class LossTerms:
    """Where the loss is a sum: the value and the gradient of each term, then the loss without the broken one."""

    def __init__(self, cls: type[Change], case: Case) -> None:
        self._cls, self._role = cls, role_of(cls)

    def run(self, case: Case) -> Trials:
        result = yield case.again(self._role.title, terms=True)
        if not result.decided:
            return not_tried(self._role, result)
        terms = result.terms
        if len(terms) < 2:
            return None
        broken = [term for term in terms if not term.healthy]
        evidence = {"terms": [vars(term) for term in terms]}
        if not broken and any(term.gradient_finite is None for term in terms):
            return (yield from self._one_by_one(case, terms, evidence))
        if len(broken) != 1:
            tells = "All terms are broken." if broken else "Each term alone is finite; only their sum is not."
            if 1 < len(broken) < len(terms):
                tells = f"Broken are {', '.join(f'`{t.op}`' for t in broken)}, {len(broken)} of {len(terms)} terms."
            return Outcome(self._role.title, False, tells, self._role.size, result.loss, 1, evidence)
        without = yield case.trial(self._cls, settings={"index": broken[0].index})
        if not without.decided:
            return not_tried(self._role, without)
        tells = f"{describe(broken[0])}; the other {len(terms) - 1} and their gradients are finite."
        title = f"without the loss term `{broken[0].op}`"
        return Outcome(title, not without.failed, tells, self._role.size, without.loss, 2, evidence)

    def _one_by_one(self, case: Case, terms: list[Term], evidence: dict[str, Any]) -> Trials:
        """Of parameters in pieces the gradient of one term cannot be asked for; the step without it can be made."""
        for spent, term in enumerate(terms[:_MOST_TRIED], 2):
            without = yield case.trial(self._cls, settings={"index": term.index})
            if without.decided and not without.failed:
                tells = f"The term `{term.op}` ({term.value}) is finite, but without it the gradients are."
                title = f"without the loss term `{term.op}`"
                return Outcome(title, True, tells, self._role.size, without.loss, spent, evidence)
        tells = "Each term is finite, and leaving one of them out does not help."
        return Outcome(
            self._role.title, False, tells, self._role.size, case.plain.loss, len(terms) + 1, evidence
        )


def describe(term: Term) -> str:
    what = "is not finite" if not term.finite else "is finite, but its gradient is not"
    return f"The term `{term.op}` ({term.value}) {what}"
