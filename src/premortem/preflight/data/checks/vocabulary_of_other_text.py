from premortem.preflight.data.sentences import known, known_in_another_form
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, some

_KNOWN = 0.5  # of the words; a vocabulary that leaves out rare words knows four in five
_OTHER_FORM = 0.02  # of the words: more than a few that were pasted from elsewhere
_FEWEST = 200  # words of the text
# `unicodedata.normalize`, `texts.str.normalize("NFC")`, and tokenizers that do it by themselves.
_NORMALISES = frozenset(
    "unicodedata NFC NFD NFKC NFKD sentencepiece SentencePieceProcessor normalizers tokenizers transformers ftfy unidecode".split()
)


class VocabularyOfOtherText(Check):
    """The vocabulary beside the data knows few of the words in its text.

    ## Why it matters
    Every other word becomes the same unknown token. The loss is finite, and the model sees hardly anything of the text.

    ## Usual causes
    The vocabulary of another collection or language; words in small letters where the text has capitals; a word list that was made from
    another way of splitting words.

    ## What to do
    Make the vocabulary from the training text, with the code that splits the words in training.

    ## When it stays silent
    When it knows more than half of the words and the rest in no other Unicode form, when it has pieces of words or single letters, and when the script does not name the file.
    """

    card = Card("PM695", "vocabulary-of-other-text", "data-labels", Severity.WARNING).explaining(
        "inputs-nearly-constant", "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        small = not facts.names or any("lower" in name or "casefold" in name for name in facts.names)
        normalises = any(_NORMALISES & set(name.split(".")) for name in facts.names | facts.words)
        for given in root.vocabularies:
            texts = [
                (known(words, given.words, small=small and not given.cased), table, column, words)
                for table in root.tables
                for column, (total, words) in table.words.items()
                if total >= _FEWEST and facts.uses(table, column)
            ]
            if not texts or not facts.reads(given.path):
                continue
            # Where it knows one of the texts, it is that one's.
            best, table, column, words = max(texts, key=lambda found: found[0])
            part, form, lacking = known_in_another_form(words, given.words)
            if part >= _OTHER_FORM and normalises:
                continue
            if part >= _OTHER_FORM:
                yield self.finding(
                    f"{part:.0%} of the words of `{column}` in `{table.shown}` are not in "
                    f"`{given.path}` as they are, and are there in the Unicode form {form}: {some(lacking)}",
                    cause="The text and its vocabulary store accents in two ways that look the same: each such word is looked up in vain.",
                    remedy=f'Bring both into one form: unicodedata.normalize("{form}", text).',
                    file=given.path,
                    column=column,
                    form=form,
                )
                continue
            if best >= _KNOWN:
                continue
            strange = [word for word in words if word not in given.words][:3]
            yield self.finding(
                f"`{given.path}` has {len(given.words):,} words and knows {best:.0%} of the words of "
                f"`{column}` in `{table.shown}`; it lacks {', '.join(f'`{word}`' for word in strange)}",
                cause="It was made from another text, or words are spelled or split in another way there.",
                remedy="Make the vocabulary from the training text, with the code that splits the words in training.",
                file=given.path,
                column=column,
                known=round(best, 3),
            )
