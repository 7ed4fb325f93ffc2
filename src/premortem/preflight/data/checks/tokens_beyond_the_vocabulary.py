import re

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, share

_SIZE = re.compile(r"vocab|n_?tokens?_?types|num_?embeddings")


class TokensBeyondTheVocabulary(Check):
    """A file of tokens has numbers that its vocabulary does not have.

    ## Why it matters
    An embedding stops at such a number, unless the script clips it or counts it as unknown: then many words become one.

    ## Usual causes
    Tokens of another tokenizer; a description that was written for an earlier vocabulary.

    ## What to do
    Tokenise again, or write the size of the vocabulary that was used.

    ## When it stays silent
    When the script does not read the file with the size, and when several sizes are given.
    """

    card = Card("PM709", "tokens-beyond-the-vocabulary", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        sizes = {
            (path, key, value)
            for path, key, value in root.numbers
            if _SIZE.search(key.lower()) and value > 1 and facts.reads(path)
        }
        if len(sizes) != 1:
            return
        path, key, size = sizes.pop()
        for stream in root.streams:
            beyond = sum(stream.counts[size:])
            if beyond and facts.reads(stream.path):
                yield self.finding(
                    f"{beyond:,} of {sum(stream.counts):,} tokens of `{stream.path}` ({share(beyond, sum(stream.counts))}) are "
                    f"beyond the vocabulary: they go up to {stream.highest:,}, and `{key}` in `{path}` is {size:,}",
                    cause="The tokens were made with another vocabulary than the one that is described.",
                    remedy="Tokenise again, or write down the size of the vocabulary that was used.",
                    file=stream.path,
                    highest=stream.highest,
                    size=size,
                )
