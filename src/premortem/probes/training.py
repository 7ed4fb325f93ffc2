"""What a probe has to do with that follows a training as a whole."""

from typing import NamedTuple

from premortem.probes.backward import Backwards
from premortem.probes.modules import Models
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session


class Training(NamedTuple):
    session: Session
    models: Models
    optimizers: Optimizers
    backwards: Backwards
