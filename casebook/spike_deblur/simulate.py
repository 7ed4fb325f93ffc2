"""Moving scenes, seen by an ordinary camera and by a spike camera.

    ROOT/train/seq_0003/blur/00000000.png      what a camera sees whose shutter is open all the time
    ROOT/train/seq_0003/sharp/00000000.png     the scene in the middle of that exposure
    ROOT/train/seq_0003/spike_vox/00000000.pt  spikes of that exposure, counted in bins of time

A pixel of the spike camera adds up light until it holds a certain amount; then it fires, keeps what is left over and
starts again. Bright pixels fire often. What the shutter has smeared is still there in the order of the spikes.
"""

import json
import math
import shutil
from pathlib import Path

import torch
from PIL import Image


def uniform(generator, low=0.0, high=1.0):
    return low + (high - low) * torch.rand((), generator=generator).item()


class Scene:
    """A textured wall, things that move in front of it, and now and then an open sky above."""

    def __init__(self, size, speed, sky, generator):
        self.size = size
        axis = torch.arange(size, dtype=torch.float32)
        self.y, self.x = torch.meshgrid(axis, axis, indexing="ij")
        self.waves = [
            (uniform(generator, 0, math.pi), uniform(generator, 5, 14), uniform(generator, 0.04, 0.12))
            for _ in range(3)
        ]
        self.drift = self.velocity(speed / 2, generator)
        self.things = [self.thing(speed, generator) for _ in range(int(uniform(generator, 4, 8)))]
        self.horizon = size * uniform(generator, 0.3, 0.5) if uniform(generator) < sky else 0.0
        self.sky = uniform(generator, 0.6, 0.95)

    @staticmethod
    def velocity(speed, generator):
        angle, length = uniform(generator, 0, 2 * math.pi), speed * uniform(generator, 0.5, 1.0)
        return length * math.cos(angle), length * math.sin(angle)

    def thing(self, speed, generator):
        return {
            "at": (uniform(generator, 0, self.size), uniform(generator, 0, self.size)),
            "velocity": self.velocity(speed, generator),
            "turn": uniform(generator, 0, math.pi),
            "half": (self.size * uniform(generator, 0.06, 0.25), self.size * uniform(generator, 0.05, 0.12)),
            "round": uniform(generator) < 0.5,
            "grey": uniform(generator, 0.05, 0.95),
            "stripes": uniform(generator, 3, 6),
        }

    def at(self, time):
        """The scene at a time, in frames; values in [0, 1]."""
        x, y = self.x - self.drift[0] * time, self.y - self.drift[1] * time
        image = torch.full_like(x, 0.5)
        for angle, wavelength, strength in self.waves:
            along = x * math.cos(angle) + y * math.sin(angle)
            image = image + strength * torch.sin(2 * math.pi * along / wavelength)
        for thing in self.things:
            # What leaves on one side comes in on the other.
            wrapped = [
                (grid - start - speed * time + self.size / 2) % self.size - self.size / 2
                for grid, start, speed in zip((self.x, self.y), thing["at"], thing["velocity"], strict=True)
            ]
            turn, (long, wide) = thing["turn"], thing["half"]
            u = wrapped[0] * math.cos(turn) + wrapped[1] * math.sin(turn)
            v = wrapped[1] * math.cos(turn) - wrapped[0] * math.sin(turn)
            far = (
                (u / long) ** 2 + (v / wide) ** 2
                if thing["round"]
                else torch.maximum(u.abs() / long, v.abs() / wide)
            )
            painted = thing["grey"] + 0.15 * torch.sin(2 * math.pi * u / thing["stripes"])
            image = torch.where(far < 1, painted, image)
        if self.horizon:
            image = torch.where(self.y < self.horizon, torch.full_like(image, self.sky), image)
        return image.clamp(0, 1)


class SpikeCamera:
    """Integrate and fire, each pixel by itself."""

    def __init__(self, size, gain, generator):
        self.gain = gain
        self.charge = torch.rand(size, size, generator=generator)

    def expose(self, light):
        """One tick; 1 where a pixel fires."""
        self.charge += self.gain * light
        fired = self.charge >= 1
        self.charge -= fired.float()
        return fired


def record(cfg, generator):
    """Blurred and sharp frames as bytes, and the voxels of the spikes between."""
    scene = Scene(cfg["SIZE"], cfg["SPEED"], cfg["SKY"], generator)
    camera = SpikeCamera(cfg["SIZE"], cfg["GAIN"], generator)
    bins, ticks = cfg["BINS"], cfg["TICKS"]
    for frame in range(cfg["FRAMES"]):
        moments = [scene.at(frame + (index + 0.5) / bins) for index in range(bins)]
        voxel = torch.stack(
            [sum(camera.expose(light).to(torch.uint8) for _ in range(ticks)) for light in moments]
        )
        blur = torch.stack(moments).mean(0)
        noise = cfg["NOISE"] * torch.randn(blur.shape, generator=generator)
        yield (blur + noise).clamp(0, 1), scene.at(frame + 0.5), voxel


def write(folder, frames):
    for name in ("blur", "sharp", "spike_vox"):
        (folder / name).mkdir(parents=True)
    for index, (blur, sharp, voxel) in enumerate(frames):
        for name, image in (("blur", blur), ("sharp", sharp)):
            grey = (255 * image).round().to(torch.uint8).numpy()
            Image.fromarray(grey).save(folder / name / f"{index:08d}.png")
        torch.save(voxel, folder / "spike_vox" / f"{index:08d}.pt")


def prepare(root, cfg, seed, limit=None):
    """Record the sequences of each split, the first `limit` or all of them, unless they are there."""
    root, note = Path(root), Path(root) / "recipe.json"
    recipe = {**cfg, "SEED": seed, "LIMIT": limit}
    if note.exists():
        found = json.loads(note.read_text())
        if {**found, "LIMIT": limit} != recipe:
            raise ValueError(f"{root} was made with other settings; remove it, and it is made again")
        if found["LIMIT"] is None or (limit is not None and limit <= found["LIMIT"]):
            return
    for offset, (split, count) in enumerate(cfg["SEQUENCES"].items()):
        for index in range(count)[:limit]:
            folder = root / split / f"seq_{index:04d}"
            if folder.exists():
                continue
            draft = root / f"{folder.name}.draft"
            shutil.rmtree(draft, ignore_errors=True)
            generator = torch.Generator().manual_seed(10000 * (3 * seed + offset) + index)
            write(draft, record(cfg, generator))
            folder.parent.mkdir(parents=True, exist_ok=True)
            draft.rename(folder)
    note.write_text(json.dumps(recipe, indent=1))
