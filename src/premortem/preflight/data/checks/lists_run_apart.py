import re

from premortem.amounts import share
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, looks_of

_TAGS = frozenset(
    "tag tags label labels target targets class classes pos upos xpos ner bio slot slots".split()
)


class ListsRunApart(Check):
    """Two lists of a record that belong together entry by entry are not as long as each other, or one is moved by a place.

    ## Why it matters
    `zip` ends with the shorter list without a word, and from the first missing entry on each word has the tag of its neighbour.

    ## Usual causes
    Words that were split or left out in one list only; a mark for the beginning that was added to one of them.

    ## What to do
    Write both lists in one go, and stop when they differ in length (`zip(..., strict=True)`).

    ## When it stays silent
    Unless the script names both lists, and nearly all records with several entries have as many in both; where a word says nothing about its
    tag; where one list is the other, a place further on (a language model); and, for lists that are moved, unless one is called after tags or
    labels, or the script predicts it: a reward comes after what was done.
    """

    card = Card("PM738", "lists-run-apart", "data-labels", Severity.WARNING).explaining(
        "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        looks = {look.path: look for look in looks_of(root) if look.parallel}
        for look in (each for each in looks.values() if facts.reads(each.path)):
            for one, two, what, number, of in look.parallel:
                if not {one, two} <= facts.words or (what == "moved" and not is_tag(two, facts)):
                    continue
                where = f"`{one}` and `{two}` in `{look.path}`"
                said = (
                    f"{where} are not as long as each other in {number:,} of {of:,} records ({share(number, of)})"
                    if what == "uneven"
                    else f"{where} run apart: `{two}` goes with the entry {'before' if number > 0 else 'behind'} its own"
                )
                yield self.finding(
                    said,
                    cause="Entries belong to those of the same place in the other list: each label is that of a neighbour (off by one).",
                    remedy="Write both lists in one go, and stop when they differ in length.",
                    file=look.path,
                    lists=[one, two],
                )


def is_tag(name: str, facts: DataFacts) -> bool:
    return facts.predicts(name) or bool(set(re.split(r"[^a-z]+", name.lower())) & _TAGS)
