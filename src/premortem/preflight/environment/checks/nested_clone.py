from premortem.amounts import short
from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity, Where


class NestedClone(Check):
    """The repository has been cloned inside itself.

    ## Why it matters
    Two copies of every module: what is edited or pulled in one is not what runs from the other. Which one an import
    finds depends on the folder the command was started in.

    ## Usual causes
    A notebook cell with `git clone` that was run a second time, after `cd` into the first clone.

    ## What to do
    Delete the copy that you do not need, and start from the top of the other.

    ## When it stays silent
    For submodules, and for repositories that come from elsewhere.
    """

    card = Card("PM609", "nested-clone", "environment", Severity.WARNING).explaining(
        "two-copies-of-a-package"
    )

    def look(self, facts: Facts) -> Findings:
        for clone in facts.clones:
            runs = "the inner one" if clone.inside else "the outer one"
            yield self.finding(
                f"{short(clone.inner)} is a second clone of the repository around it ({short(clone.outer)}): {clone.sign}",
                cause=f"It was cloned inside itself; this command runs {runs}.",
                remedy=f"Delete {'the one you do not need' if clone.inside else short(clone.inner)}, and start from the top.",
                where=Where(str(clone.inner)),
            )
