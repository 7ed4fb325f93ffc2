"""Safe pieces for your own training loop. Each says what it did, and none hides a failure.

    GuardedLoss     a sum of loss terms; one that fails is replaced, counted and explained
    Charbonnier     a smooth L1 loss whose gradient is finite everywhere
    MSSSIM          multi-scale structural similarity that is finite for every finite image
    safe_clip       gradient clipping that does not spread a NaN
    AdaptiveClip    clipping at what is usual for this run, not at a fixed norm
    Metrics         values are checked before logger, scheduler and best checkpoint see them
    Evaluation      means over samples, refused when they rest on too few; PSNR and SSIM are measures for it
    RamCache        decoded samples in memory, once for all workers, within a budget
    channels_last   the right memory format for each layer, kept where it is faster
    pad_to_multiple and unpad; needed_multiple finds the multiple that a model needs
    load_config     YAML 1.2, TOML and JSON into a dataclass or pydantic model, mistakes with file and line

They work with and without `premortem run`.
"""

try:
    import torch as _torch  # noqa: F401 - only to say in one sentence what is missing
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    from premortem.errors import MissingExtra

    raise MissingExtra("premortem.parts", "torch") from None

from premortem.configs import load_config
from premortem.parts.adaptive_clip import AdaptiveClip
from premortem.parts.cache_report import CacheReport
from premortem.parts.channels_last import channels_last
from premortem.parts.charbonnier import Charbonnier
from premortem.parts.clip_record import ClipRecord
from premortem.parts.evaluation import Evaluation
from premortem.parts.guarded_loss import GuardedLoss
from premortem.parts.image_measures import PSNR, SSIM
from premortem.parts.layout_report import LayoutReport
from premortem.parts.ledger import Ledger, TermRecord
from premortem.parts.metrics import Best, Metrics, Refused
from premortem.parts.msssim import MSSSIM
from premortem.parts.needed_multiple import NeededMultiple, needed_multiple
from premortem.parts.outcome import Outcome
from premortem.parts.padding import Padding, pad_to_multiple, unpad
from premortem.parts.ram_cache import RamCache
from premortem.parts.safe_clip import safe_clip

__all__ = [
    "MSSSIM",
    "PSNR",
    "SSIM",
    "AdaptiveClip",
    "Best",
    "CacheReport",
    "Charbonnier",
    "ClipRecord",
    "Evaluation",
    "GuardedLoss",
    "LayoutReport",
    "Ledger",
    "Metrics",
    "NeededMultiple",
    "Outcome",
    "Padding",
    "RamCache",
    "Refused",
    "TermRecord",
    "channels_last",
    "load_config",
    "needed_multiple",
    "pad_to_multiple",
    "safe_clip",
    "unpad",
]
