"""Other programs, and this Python again."""
import subprocess
import sys
import torch
print(subprocess.run(["echo", "hello"], capture_output=True, text=True, check=True).stdout)
done = subprocess.run([sys.executable, "-c", "import sys; print(sys.argv, len(sys.flags)); sys.exit(3)", "x"], capture_output=True, text=True, check=False)
print(done.returncode, done.stdout, done.stderr)
done = subprocess.run([sys.executable, "-I", "-c", "raise ValueError('x')"], capture_output=True, text=True, check=False)
print(done.returncode, done.stderr)
print(subprocess.run("exit 4", shell=True, check=False).returncode, torch.ones(1).item())
