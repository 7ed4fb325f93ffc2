from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Severity, Where, count


class PatternFitsNothing(Check):
    """The code looks for a suffix that no file has, beside files that have nearly that suffix.

    ## Why it matters
    `glob("*.jpg")` does not find `IMG_01.JPG` on Linux. The dataset is empty or lacks a camera's worth of images, and no
    error says so.

    ## Usual causes
    Cameras and scanners that write capitals; `.jpeg` for `.jpg`; data converted to another format after the code was written.

    ## What to do
    Compare suffixes in lower case, and accept every format that the decoder can read.
    """

    card = Card("PM652", "pattern-fits-nothing", "data-empty", Severity.WARNING)

    def look(self, facts: DataFacts) -> Findings:
        for pattern in facts.patterns:
            yield self.finding(
                f"no file of the data fits `{pattern.pattern}`, but {count(pattern.count, 'file ends', 'files end')} in "
                f"`{pattern.nearly}`",
                cause="The pattern and the files spell the suffix differently.",
                remedy="Compare `path.suffix.lower()` with the suffixes that you accept.",
                where=Where(file=pattern.file or None, line=pattern.line),
                pattern=pattern.pattern,
                nearly=pattern.nearly,
                files=pattern.count,
            )
