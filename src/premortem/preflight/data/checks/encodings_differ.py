from pathlib import PurePath

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_OTHER = ("not UTF-8", "UTF-16")
_NAMED = tuple("latin iso-8859 iso8859 cp125 cp437 windows-12 utf-16 utf_16 chardet charset".split())


class EncodingsDiffer(Check):
    """Of several text files of a dataset, one is in another encoding than the others.

    ## Why it matters
    With `errors="replace"` or a guessed encoding nothing crashes: each word with an accent becomes another word, in one
    split and not in the other.

    ## Usual causes
    A file that went through a spreadsheet or an old export (latin-1, windows-1252), beside others in UTF-8.

    ## What to do
    `iconv -f latin1 -t utf-8`, and open text with `encoding="utf-8"` and no `errors=`.

    ## When it stays silent
    When all files with that ending are in one encoding or plain ASCII, and when the script names another encoding.
    """

    card = Card("PM642", "encodings-differ", "data-scale", Severity.WARNING).explaining(
        "text-in-another-encoding"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        if any(word.lower().startswith(_NAMED) for word in facts.names):
            return
        for odd in (file for file in root.described if file.encoding in _OTHER):
            ending = PurePath(odd.path).suffix
            others = [
                f
                for f in root.described
                if f.encoding.startswith("UTF-8") and PurePath(f.path).suffix == ending
            ]
            if others:
                yield self.finding(
                    f"`{odd.path}` is {odd.encoding} (line {odd.line}), and `{others[0].path}` is "
                    f"{others[0].encoding}",
                    cause="The same code reads both: letters with accents are other letters, or none, in one of them.",
                    remedy=f"Convert `{odd.path}` to UTF-8 (`iconv -f latin1 -t utf-8`).",
                    file=odd.path,
                    encoding=odd.encoding,
                    line=odd.line,
                )
