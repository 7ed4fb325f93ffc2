from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, looks_of, share
from premortem.profile.alone import mostly_filler

_LEFT_OUT = ("ignore_index", "padding_idx", "loss_mask", "attention_mask", "padding_mask")


class StreamMostlyFiller(Check):
    """Most tokens of a packed stream are one and the same, in long runs.

    ## Why it matters
    Filler is predicted at no cost, so the loss is falsely low, and little of each batch is text.

    ## Usual causes
    Documents that were filled up to one length before they were packed; a tokenizer with `padding="max_length"`.

    ## What to do
    Pack the documents one after the other without filler, or leave the filler out of the loss (`ignore_index`).

    ## When it stays silent
    Below four in ten tokens; when the token also stands alone between others, as the background of a picture does; when the code
    leaves something out of its loss.
    """

    card = Card("PM623", "stream-mostly-filler", "data-empty", Severity.WARNING).explaining("mostly-filler")

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        if any(word.rpartition(".")[2] in _LEFT_OUT for word in facts.names):
            return
        streams = {each.path for each in looks_of(root) if each.kind == "raw"}
        for table in (t for t in root.tables if t.path in streams):
            found = mostly_filler(table.profile)
            if found is not None:
                yield self.finding(
                    f"{share(found.times, found.of)} of the tokens of `{table.shown}` are token "
                    f"{found.token}, in long runs: filler (padding), and no text",
                    cause="The documents were filled up to one length and packed with their filler.",
                    remedy="Pack the documents without filler, or leave the filler out of the loss.",
                    file=table.path,
                    token=found.token,
                    share=round(found.times / found.of, 3),
                )
