"""The job asks for two GPUs, as the template did."""

from pathlib import Path

Path("job.sh").write_text(
    "#!/bin/bash\n#SBATCH --gpus-per-node=2\n#SBATCH --time=12:00:00\nsrun python train.py --scale gpu\n"
)
