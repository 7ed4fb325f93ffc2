"""The speed-ups that are tried. To add one: write its file and add it here, in the order they are tried."""

from premortem.fit.speed.candidates.autocast import Autocast
from premortem.fit.speed.candidates.base import Candidate
from premortem.fit.speed.candidates.channels_last import ChannelsLast
from premortem.fit.speed.candidates.compile_blocks import CompileBlocks
from premortem.fit.speed.candidates.compile_model import CompileModel
from premortem.fit.speed.candidates.fused_optimizer import FusedOptimizer
from premortem.fit.speed.candidates.non_reentrant import NonReentrant
from premortem.fit.speed.candidates.without_compile import WithoutCompile

ALL: tuple[type[Candidate], ...] = (
    FusedOptimizer,
    ChannelsLast,
    Autocast,
    NonReentrant,
    WithoutCompile,
    CompileBlocks,
    CompileModel,
)
# Of two that do the same to different parts, only the better one is combined with the others.
RIVALS: tuple[frozenset[str], ...] = (frozenset({"compile", "compile-blocks"}),)

__all__ = ["ALL", "RIVALS", "Candidate"]
