"""Loader workers by each start method, with a class of the script's own."""
import torch
from torch.utils.data import DataLoader, Dataset
class Squares(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, i):
        return torch.tensor(i * i)
def note(worker):
    torch.manual_seed(worker)
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        loader = DataLoader(Squares(), batch_size=2, num_workers=2, multiprocessing_context=method, worker_init_fn=note)
        print(method, [batch.tolist() for batch in loader])
