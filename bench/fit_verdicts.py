"""Does anything that is said to fit run out of memory? On cards that are played by a limit on a larger one.

Called by bench/fit.py: `verdicts-predict` (no GPU) says for each configuration and size of card the largest batch with the
verdict `fits` and the largest that is at least `tight`; `verdicts` runs both, and one more, under that limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

GIB = 2**30
# Sizes of cards, in GiB, that the largest batch was not searched for with.
CARDS: dict[str, float] = {
    "resnet18_sgd": 6,
    "diffusion_bf16_with_average": 4,
    "decoder_reentrant_accumulated": 5,
    "vit_base_bf16_dropout": 5,
    "resnet50_channels_last_fp16": 4,
    "mixer_fp32_fused": 6,
    "clip_two_towers_bf16": 5,
    "efficient_channels_last_bf16": 4,
    "residual_unet_amsgrad_fp32": 4,
    "vit_registers_fp16_scaler": 4,
    "video_divided_attention_bf16": 3,
    "factored_conv3d_fp32": 4,
    "momentum_contrast_with_queue": 3,
    "hinge_gan_spectral_norm": 2,
    "text_guided_diffusion_bf16": 4,
    "convolutions_checkpointed_in_segments": 3,
    "masked_language_model_bf16": 4,
    "decoder_written_out_fp32": 5,
    "decoder_every_second_checkpointed": 5,
    "experts_in_a_loop_bf16": 5,
    "speech_lstm_fp16_scaler": 2,
    "message_passing_scatter_fp32": 2,
}


def edge(rehearsed: Callable[[int], Any], room: int, start: int, share: float = 1.0) -> int:
    """The largest batch that goes through on a card with this room, found as `premortem fit` finds it."""
    from premortem.fit.prediction import predict
    from premortem.fit.search import Search

    def trial(batch: int) -> dict[str, Any]:
        found = predict(rehearsed(batch), int(room * share))
        return {"batch": batch, "allocated": found.allocated, "fits": bool(found.fits)}

    search = Search(trial, lambda result: result["fits"], room=room * share, value=start, base=trial(start))
    return search.run() or 0


def predicted(rehearsed: Callable[[int], Any], gib: float, start: int) -> dict[str, Any]:
    from premortem.fit.trials import SHARE

    room = int(gib * GIB)
    return {
        "limit": room,
        "fits": edge(rehearsed, room, start, SHARE),
        "tight": edge(rehearsed, room, start),
    }


def measured(build: Callable[[int], Any], row: dict[str, Any], peaks: Callable[..., dict]) -> dict[str, Any]:
    """What happened at each of the batches. The last one is expected to fail."""
    import torch

    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(row["limit"] / total)
    found: dict[str, Any] = {"limit": row["limit"]}
    try:
        for word, batch in (("fits", row["fits"]), ("tight", row["tight"]), ("above", row["tight"] + 1)):
            if batch:
                ran = peaks(build, batch)
                found[word] = {"batch": batch, "ended": ran.get("error", "ran")}
                found[word] |= {key: ran[key] for key in ("allocated", "reserved") if key in ran}
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    return found
