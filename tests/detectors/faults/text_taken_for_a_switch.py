from premortem.events import FileFacts, FilesRead, Site, Switch

SWITCH = Switch("model.mask", "false", "/d/config.yaml", 4, Site("train.py", 21))
EVENTS = [FilesRead(step=1, files=(), switches=(SWITCH,))]
HEALTHY = [FilesRead(step=1, files=(FileFacts("/d/config.yaml"),))]
