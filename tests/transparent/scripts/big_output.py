"""Many lines, long lines, odd bytes, carriage returns, colours, a progress bar by hand."""
import sys
import torch
for i in range(2000):
    print(f"step {i} loss {1 / (i + 1):.6f}")
print("x" * 100000)
sys.stdout.write("\r 10%\r 20%\r100%\n")
print("\x1b[31mred\x1b[0m", "äöü ☃ 𝄞", end="\n\n")
sys.stderr.write("partial")
sys.stderr.flush()
sys.stderr.write(" line\n")
print(torch.ones(1).item())
