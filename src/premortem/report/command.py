"""`premortem report`: its options."""

from collections.abc import Sequence

from premortem.command_line import Parser


def parser() -> Parser:
    made = Parser(
        prog="premortem report",
        usage="premortem report [options] [RUN]\n       premortem report [options] RUN RUN",
        description="What happened in a run, as one page that opens anywhere, or as Markdown. For two runs: where they differ, "
        "and what is different.",
    )
    made.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="a run's folder or journal, or URL/RUN of one that was published (default: the newest run of this folder)",
    )
    made.add_argument(
        "-o",
        "--output",
        metavar="FILE.html|FILE.md|FILE.json|-",
        help="where to (default: report.html beside the journal)",
    )
    made.add_argument("--format", metavar="html|md|json", help="when the file's name does not say it")
    return made


def call(tokens: Sequence[str]) -> int:
    options = parser().parse(tokens)

    from premortem.report import verb

    return verb.run(options)
