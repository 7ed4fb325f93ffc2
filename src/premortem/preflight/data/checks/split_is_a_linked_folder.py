from premortem.preflight.data.splits import of_folder
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity


class SplitIsALinkedFolder(Check):
    """The folder of the validation or test split is a link to that of the training split.

    ## Why it matters
    Two names, one content: the score is measured on rows that were learnt by heart.

    ## Usual causes
    `ln -s train val` to make a script run that wants both; a job that links what it did not find.

    ## What to do
    Remove the link and put the held-out data there. `readlink -f` shows where a name ends.

    ## When it stays silent
    For links between folders of one split, and for links that lead out of the dataset.
    """

    card = Card("PM640", "split-is-a-linked-folder", "data-order", Severity.WARNING).explaining(
        "split-is-a-link", "evaluated-on-training-rows", "no-samples"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for link, end in root.links:
            split, other = of_folder(link).split, of_folder(end).split
            if split and other and split != other:
                yield self.finding(
                    f"`{link}` is a link to `{end}`: {split} and {other} are the same files",
                    cause="Both names end in the same folder, so what is judged is what was trained on.",
                    remedy=f"Remove the link `{link}` and put the held-out data there.",
                    link=link,
                    end=end,
                )
