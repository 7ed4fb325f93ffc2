"""Everything that can be done with the streams."""
import contextlib
import io
import os
import sys
import torch
print("plain", end="")
print(" and more", file=sys.stdout, flush=True)
sys.stdout.write("written\n")
sys.stdout.buffer.write(b"bytes\n")
sys.stdout.flush()
os.write(1, b"descriptor\n")
print("err", file=sys.stderr)
with contextlib.redirect_stdout(io.StringIO()) as caught:
    print("caught")
print(repr(caught.getvalue()))
sys.stdout.writelines(["a\n", "b\n"])
print(sys.stdout.line_buffering, sys.stdout.writable(), sys.stdout.newlines, sys.stdout.name, sys.stdout.mode)
print(sys.__stdout__ is not None, sys.stdout.seekable() in (True, False))
sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding="utf-8", write_through=True)
print("of its own", torch.ones(1).item())
