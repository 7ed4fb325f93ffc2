from premortem.events import FileFacts, FilesRead, Site

DAY = 86_400.0
KEPT = Site("train.py", 12)


def read(cache, source, sources=("/d/table.csv",)):
    made = FileFacts("/d/table.npy", written=cache, rows=900, kept=KEPT if sources else None, sources=sources)
    return [FilesRead(step=1, files=(made, FileFacts("/d/table.csv", written=source, rows=950)))]


EVENTS = read(DAY, 9 * DAY)
HEALTHY = [
    read(9 * DAY, DAY),
    read(DAY, DAY + 120),  # copied together
    read(DAY, 9 * DAY, sources=()),  # not made from it
]
