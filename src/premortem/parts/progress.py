"""A progress bar on the terminal, or nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(total: int, *, shown: bool) -> Iterator[Callable[[str], None]]:
    """Call what it gives with a word on how things stand, once for each piece that is done."""
    if not shown:
        yield lambda words: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        yield lambda words: progress.update(task, advance=1, description=words)
