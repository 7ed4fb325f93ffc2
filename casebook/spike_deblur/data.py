"""Clips of `blur/ sharp/ spike_vox/` sequences, from a cache in memory that all workers share."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset, Sampler

FOLDERS = ("blur", "sharp", "spike_vox")


def read(path):
    if path.suffix == ".pt":
        return torch.load(path)
    return torch.from_numpy(np.array(Image.open(path)))[None]


class SpikeDeblurDataset(Dataset):
    """Each item is a clip: blurred and sharp frames (T, 1, H, W) in [0, 1], spikes (T, bins, H, W)."""

    def __init__(self, root, split, cfg, crop=0, limit=None):
        self.root = Path(root) / split
        self.clip_len, self.crop = cfg["CLIP_LEN"], crop
        self.white = cfg["SIMULATION"]["TICKS"] * cfg["SIMULATION"]["GAIN"]  # spikes of white in a bin
        self._samples = []
        sequences = sorted(path for path in self.root.glob("*") if path.is_dir())[:limit]
        for sequence in sequences:
            frames = self._frames(sequence)
            for start in range(0, len(frames) - self.clip_len + 1, self.clip_len):
                self._samples.append((sequence, frames[start : start + self.clip_len]))
        print(f"[SpikeDeblurDataset] Found {len(self._samples)} samples in split '{split}'")
        if not self._samples:
            raise FileNotFoundError(f"no clip of {self.clip_len} frames in {self.root}")
        self._cache = {}
        if cfg["USE_RAM_CACHE"]:
            self._preload_cache(cfg["CACHE_GB"])

    @staticmethod
    def _frames(sequence):
        """Numbers of the frames that have all three files."""
        found = [{path.stem for path in (sequence / name).glob("*.*")} for name in FOLDERS]
        return sorted(set.intersection(*found))

    @staticmethod
    def _file(sequence, name, frame):
        return sequence / name / f"{frame}{'.pt' if name == 'spike_vox' else '.png'}"

    def _preload_cache(self, budget):
        """Shared memory: a worker that is forked or spawned gets a handle, not a copy."""
        held = 0
        for sequence, frames in self._samples:
            for name in FOLDERS:
                for frame in frames:
                    path = self._file(sequence, name, frame)
                    tensor = read(path)
                    held += tensor.nbytes
                    if held > budget * 2**30:
                        raise MemoryError(f"the cache would exceed its {budget} GB")
                    self._cache[path] = tensor.share_memory_()
        print(
            f"[SpikeDeblurDataset] Cache preloaded: {len(self._cache)} items, "
            f"{held / 2**30:.3f}GB / {budget:.1f}GB"
        )

    def _read(self, path):
        cached = self._cache.get(path)
        return read(path) if cached is None else cached

    def __len__(self):
        return len(self._samples)

    def __getitem__(self, index):
        sequence, frames = self._samples[index]
        blur, sharp, voxels = (
            torch.stack([self._read(self._file(sequence, name, frame)) for frame in frames])
            for name in FOLDERS
        )
        clip = torch.cat([blur.float() / 255, sharp.float() / 255, voxels.float() / self.white], dim=1)
        if self.crop:
            clip = self._augment(clip)
        return clip[:, :1], clip[:, 1:2], clip[:, 2:]

    def _augment(self, clip):
        height, width = clip.shape[-2:]
        top = int(torch.randint(height - self.crop + 1, ()))
        left = int(torch.randint(width - self.crop + 1, ()))
        clip = clip[..., top : top + self.crop, left : left + self.crop]
        if torch.rand(()) < 0.5:
            clip = clip.flip(-1)
        return clip.transpose(-1, -2) if torch.rand(()) < 0.5 else clip


class EnlargedSampler(Sampler):
    """Every clip several times in an epoch, each time with another crop."""

    def __init__(self, dataset, ratio):
        self.size, self.count = len(dataset), ratio * len(dataset)

    def __len__(self):
        return self.count

    def __iter__(self):
        yield from (index % self.size for index in torch.randperm(self.count).tolist())
