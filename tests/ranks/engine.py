"""DeepSpeed's engine on the CPU: `engine.backward`, `engine.step`. The words: the stage of ZeRO (0, 1, 2), and what goes wrong."""

import hashlib
import os
import sys

import deepspeed
import torch
import torch.distributed as dist
from network import Block
from torch import nn

words = set(sys.argv[1:])
stage = next(int(word) for word in words if word.isdigit())
# A kernel for inference, which DeepSpeed would compile here and now, behind a lock: a compiler that is ended meanwhile leaves the lock
# behind, and every later process waits for ever.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
deepspeed.init_distributed(dist_backend="gloo", verbose=False)
rank = dist.get_rank()


def broken(x):
    return torch.log(x - 9)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.block, self.head = nn.Linear(8, 16), Block(32), nn.Linear(16, 1)

    def forward(self, x, ill):
        x = self.block(self.stem(x))
        return self.head(broken(x) if ill else x)


torch.manual_seed(0)
model = Net()
config = {
    "train_micro_batch_size_per_gpu": 16,
    "gradient_accumulation_steps": 2 if "accumulate" in words else 1,
    "zero_optimization": {"stage": stage},
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
}
held = [p for name, p in model.named_parameters() if "headless" not in words or not name.startswith("head.")]
optimizer = torch.optim.AdamW(held, lr=1e-2)
engine, optimizer, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
if "vault" in words:
    import premortem

    if "own" in words:
        premortem.Vault("vault", each_rank=True).save(0, own={"optimizer": optimizer})
    else:
        premortem.Vault("vault").save(0, model=engine.module, optimizer=optimizer)
torch.manual_seed(rank)
history = []
for step in range(24 if "headless" in words else 10):
    for _ in range(2 if "accumulate" in words else 1):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(
            engine(x, "born" in words and 4 < step < 9 and rank == 1), x.sum(1, keepdim=True)
        )
        engine.backward(loss)
        engine.step()
    bits = b"".join(p.detach().float().numpy().tobytes() for p in model.parameters())
    history.append(hashlib.sha256(bits).hexdigest()[:16])
os.write(1, f"\nrank {rank} history {' '.join(history)}\n".encode())
dist.barrier()
dist.destroy_process_group()
