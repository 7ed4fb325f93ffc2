from premortem.events import FileFacts, FilesRead

EVENTS = [FilesRead(step=1, files=(FileFacts("/d/train.jsonl", size=9000, rows=75, cut='"f08": 2.36'),))]
HEALTHY = [FilesRead(step=1, files=(FileFacts("/d/train.jsonl", size=9000, rows=75),))]
