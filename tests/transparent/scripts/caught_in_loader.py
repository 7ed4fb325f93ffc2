"""A dataset that raises: in the main process and in workers."""
import traceback
import torch
from torch.utils.data import DataLoader, Dataset
class Broken(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        if i == 2:
            raise IndexError(f"no sample {i}")
        return torch.ones(1)
if __name__ == "__main__":
    for workers in (0, 1):
        try:
            for batch in DataLoader(Broken(), num_workers=workers):
                print(batch.shape)
        except IndexError as error:
            text = "".join(traceback.format_exception(error))
            print("\n".join(line for line in text.splitlines() if "pid" not in line))
