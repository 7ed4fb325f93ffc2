from premortem.amounts import short
from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Check, Findings, Severity


class ImportsAnotherCopy(Check):
    """The script imports an installed copy of a package whose source is in the working tree.

    ## Why it matters
    What is edited here is not what runs. A fix that changes nothing has cost many an afternoon.

    ## Usual causes
    `pip install .` without `-e`, some commits ago; a second clone that was installed with `-e`; a script in a subfolder,
    which has that folder and not the top of the project on its path.

    ## What to do
    `pip install -e .` in this folder, or `pip uninstall` the copy and start with `python -m` from the top.

    ## When it stays silent
    When the files are not alike, so that only the names are; when the script changes `sys.path` itself. Two copies that
    are the same to the last byte are a remark.
    """

    card = Card("PM610", "imports-another-copy", "environment", Severity.WARNING)

    def look(self, facts: Facts) -> Findings:
        for copy in facts.copies:
            if not copy.outside:
                continue
            state = "are the same at the moment" if copy.same else "differ"
            yield self.finding(
                f"`import {copy.name}` finds {short(copy.used)}, not the copy in this project ({short(copy.other)}); the two {state}",
                cause="The folder of the project's copy is not on the path that the script starts with.",
                remedy="Run `pip install -e .` here, or uninstall the other copy.",
                where=copy.where,
                severity=Severity.INFO if copy.same else Severity.WARNING,
                used=str(copy.used),
                here=str(copy.other),
            )
