"""What a training consists of: the objects whose state makes a checkpoint.

    save(step, model=net, optimizer=adam, loader=loader)
    save(step, model={"generator": g, "critic": d}, optimizer={"generator": a, "critic": b})   # model.generator, …

A module is taken without its wrappers, so that its names are the same with and without DataParallel or torch.compile.
A mapping of tensors is a state itself (an EMA kept by hand).
"""

from collections.abc import Mapping
from typing import Any

from premortem.errors import UsageError
from premortem.vault.wrapping import bare, unwrapped


def expand(given: Mapping[str, Any]) -> dict[str, Any]:
    """Pieces by name. What holds several of a kind is taken apart; what is None is not there."""
    pieces: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if isinstance(value, (list, tuple)):
            value = {str(place): each for place, each in enumerate(value)}  # noqa: PLW2901
        if isinstance(value, Mapping) and not is_weights(value):
            for key, inner in value.items():
                _check(f"{name}.{key}", inner)
                pieces[f"{name}.{key}"] = inner
        else:
            _check(name, value)
            pieces[name] = value
    return pieces


def _check(name: str, value: Any) -> None:
    if not name.replace(".", "_").replace("-", "_").isidentifier():
        raise UsageError(
            f"`{name}` cannot be the name of a piece of a checkpoint; use letters, digits and `_`"
        )
    if not is_weights(value) and not hasattr(value, "state_dict") and not is_loader(value):
        raise UsageError(
            f"{name}= is a {type(value).__name__}, which has no state_dict; "
            "give an object that has one, a mapping of tensors, or use extra= for plain values"
        )


def is_weights(value: Any) -> bool:
    """A mapping of tensors: an EMA kept by hand, or a state_dict."""
    import torch

    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(each, torch.Tensor) for each in value.values())
    )


def is_module(value: Any) -> bool:
    import torch

    return isinstance(value, torch.nn.Module)


def is_optimizer(value: Any) -> bool:
    return hasattr(value, "param_groups") and hasattr(value, "state_dict")


def is_scheduler(name: str, value: Any) -> bool:
    import torch

    return isinstance(value, torch.optim.lr_scheduler.LRScheduler) or name.partition(".")[0] == "scheduler"


def is_scaler(name: str, value: Any) -> bool:
    import torch

    return isinstance(value, torch.amp.GradScaler) or name.partition(".")[0] == "scaler"


def is_loader(value: Any) -> bool:
    import torch

    return isinstance(value, torch.utils.data.DataLoader)


def processes() -> int:
    import torch.distributed as dist

    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    import torch.distributed as dist

    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def shared_out(loader: Any) -> bool:
    """Whether one state holds the position of every process."""
    from premortem.vault.sampler import ResumableLoader

    return isinstance(loader, ResumableLoader) and loader.order.distributed


def state_of(name: str, piece: Any, *, each_rank: bool = False) -> tuple[Any, str]:
    """The state of a piece, and why there is none. `each_rank`: every process saves its own."""
    if is_weights(piece):
        return dict(piece), ""
    if is_module(piece):
        return {bare(key): value for key, value in unwrapped(piece).state_dict().items()}, ""
    if is_loader(piece) and processes() > 1 and not each_rank and not shared_out(piece):
        return None, (
            f"`{name}`: every process has its own position in the data; use premortem.ResumableLoader with a "
            "DistributedSampler, or Vault(…, each_rank=True)"
        )
    if not hasattr(piece, "state_dict"):
        return _order_of(piece, name)
    return piece.state_dict(), ""


def _order_of(loader: Any, name: str) -> tuple[Any, str]:
    """A plain DataLoader does not know its position; a sampler of ours does, unless workers fetch ahead."""
    from premortem.vault.sampler import ResumableSampler

    remedy = "use premortem.ResumableLoader, with the same arguments, or torchdata's StatefulDataLoader"
    for held in (loader.batch_sampler, loader.sampler):
        if isinstance(held, ResumableSampler):
            if loader.num_workers:
                return (
                    None,
                    f"`{name}`: its workers fetch ahead, so its sampler does not know where training is; {remedy}",
                )
            return held.state_dict(), ""
    return None, f"`{name}`: a DataLoader does not know its position; {remedy}"


def load_order(loader: Any, state: Any) -> None:
    """The counterpart of `state_of` for loaders. The generators are restored after this."""
    from premortem.vault.sampler import ResumableLoader, ResumableSampler

    if hasattr(loader, "load_state_dict"):
        loader.load_state_dict(state)
        if not isinstance(loader, ResumableLoader):
            # torchdata makes its iterator now, and not in the loop: it draws a seed, and in the run that is continued
            # it had drawn it before the checkpoint.
            loader.state_dict()
        return
    for held in (loader.batch_sampler, loader.sampler):
        if isinstance(held, ResumableSampler):
            held.load_state_dict(state)
            return
    raise UsageError("this loader cannot be set to a place; use premortem.ResumableLoader")


def specs(piece: Any) -> dict[str, Any]:
    """Names, shapes and dtypes of what a module, or a mapping of tensors, wants to be given."""
    import torch

    from premortem.vault.matching import Spec

    state = piece if is_weights(piece) else unwrapped(piece).state_dict()
    return {
        str(key): Spec(tuple(value.shape), str(value.dtype).removeprefix("torch."))
        for key, value in state.items()
        if isinstance(value, torch.Tensor)
    }


def models(pieces: Mapping[str, Any]) -> dict[str, Any]:
    """The modules whose parameters an optimizer may hold."""
    return {
        name: each for name, each in pieces.items() if is_module(each) and name.partition(".")[0] != "ema"
    }
