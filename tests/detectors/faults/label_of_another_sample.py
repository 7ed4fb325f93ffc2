"""A collate_fn that sorts inputs and leaves labels as they came."""

from premortem.events import Event, LabelsPlaced


def run(rows: int, wrong: int) -> list[Event]:
    return [LabelsPlaced(step=step, rows=rows, wrong=wrong) for step in range(3)]


EVENTS = run(32, 15)
HEALTHY: list[list[Event]] = [run(32, 0), run(32, 2), run(0, 0), run(4, 2)]
