import re

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity
from premortem.profile.weighting import NEARLY_ALL, are_left_out, few

_DRAWS = {"WeightedRandomSampler", "multinomial", "choice", "choices"}
_NAMED = re.compile(r"weight|prob|sampl|importance|^p$|^w$")


class FewRowsCarryTheWeights(Check):
    """A handful of samples has nearly all of the weight by which a sampler draws.

    ## Why it matters
    The model is trained on these few rows, over and over. The training loss falls to nothing, and nothing generalises.

    ## Usual causes
    A division by an empty count, or by nearly 0; weights that were stored as whole numbers, so that most are 0; weights that were multiplied once too often; a logarithm that was taken for a weight.

    ## What to do
    Look at the largest weights, and limit them.

    ## When it stays silent
    When a hundredth of the samples or more makes 95 % of the draws; for weights of 0, which leave samples out on purpose, unless they are nineteen in
    twenty and the others differ; and when the script draws nothing by weights.
    """

    card = Card("PM624", "few-rows-carry-the-weights", "data-order", Severity.WARNING).explaining(
        "fewer-samples-than-expected", "evaluation-dwarfs-training"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        if not any(word.rpartition(".")[2] in _DRAWS for word in facts.names):
            return
        for table in root.tables:
            for name, (drawable, carried) in table.carried.items():
                if not _NAMED.search(name.lower()):
                    continue
                if few(drawable, carried):
                    yield self.finding(
                        f"{carried} of {drawable:,} rows have {NEARLY_ALL:.0%} of the sampling weight in "
                        f"`{table.shown}` ({name})",
                        cause="The weights of a few rows are extreme: a sampler draws practically only these few samples.",
                        remedy="Look at the largest weights (a division by an empty count makes such numbers), and limit them.",
                        file=table.path,
                        carrying=carried,
                        samples=drawable,
                    )
                elif table.read == table.rows and are_left_out(drawable, carried, table.rows):
                    yield self.finding(
                        f"{drawable} of {table.rows:,} rows have a sampling weight other than 0 in `{table.shown}` ({name})",
                        cause="Nearly all weights are 0, and the others differ, so they do not just select rows: a sampler never draws the rest.",
                        remedy="Look at the column: one that was rounded, or joined from elsewhere, has zeros where it should not.",
                        file=table.path,
                        carrying=drawable,
                        samples=table.rows,
                    )
