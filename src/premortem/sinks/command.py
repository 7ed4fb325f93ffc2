"""`--notify 'command'`: run by the shell for each message, with the finding as JSON on its stdin.

`PREMORTEM_SUBJECT` and `PREMORTEM_TEXT` hold the message: `--notify 'notify-send "$PREMORTEM_SUBJECT"'`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

from premortem.errors import UsageError
from premortem.files.plain import dumps
from premortem.sinks.notify import Message, Notifier, Undelivered

TIMEOUT = 60.0


class Command(Notifier):
    def __init__(self, command: str) -> None:
        super().__init__()
        try:
            first = shlex.split(command)[0]
        except (ValueError, IndexError):
            raise UsageError(f"`--notify` cannot read the command `{command}`") from None
        if shutil.which(first) is None:
            raise UsageError(
                f"`--notify {first}` is not an https:// address, a mailto: address or an installed command"
            )
        self._command = command
        self.name = f"the command `{first}`"

    def send(self, message: Message) -> None:
        text = "\n".join(message.lines)
        message_of = {"PREMORTEM_SUBJECT": message.subject, "PREMORTEM_TEXT": text}
        record = {"subject": message.subject, "text": text}
        if message.finding is not None:
            record |= {"code": message.finding.code, "severity": message.finding.severity.value}
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", self._command],
                input=dumps(record).encode(),
                env={**os.environ, **message_of},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=TIMEOUT,
                check=False,
                start_new_session=True,  # Ctrl-C is for the run
            )
        except subprocess.TimeoutExpired:
            raise Undelivered(f"it took longer than {TIMEOUT:.0f} seconds") from None
        if done.returncode:
            raise Undelivered(f"it ended with {done.returncode}")
