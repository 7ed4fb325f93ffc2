"""Build the signature database of `premortem lint` from released wheels, without importing one.

python tools/signatures.py                        every distribution, downloading what is needed
python tools/signatures.py torch --sources DIR    one of them; sources are kept in DIR for the next time
python tools/signatures.py --show torch.optim     print what the database holds, name by name
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
import zipfile
from pathlib import Path

from sigdb.calls import Call
from sigdb.encode import compress, encode
from sigdb.inventory import DISTRIBUTIONS, Distribution, inventory
from sigdb.namespaces import Wheel
from sigdb.wheels import releases, sources

DATA = Path(__file__).resolve().parent.parent / "src" / "premortem" / "lint" / "data"


def build(distribution: Distribution, folder: Path) -> str:
    """The text of the database for one distribution."""
    found: dict[str, dict[str, Call]] = {}
    for version in releases(distribution.name, distribution.oldest):
        with zipfile.ZipFile(sources(distribution.name, version, folder)) as archive:
            found[version] = inventory(Wheel(archive), distribution)
        print(f"{distribution.name} {version}: {len(found[version])} names", flush=True)
    return encode(distribution.name, found)


def write(distribution: Distribution, folder: Path) -> None:
    packed = compress(build(distribution, folder))
    path = DATA / f"{distribution.name}.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)
    print(f"wrote {path.name}: {len(packed)} bytes")


def show(prefix: str) -> None:
    for path in sorted(DATA.glob("*.gz")):
        head, *lines = gzip.decompress(path.read_bytes()).decode("ascii").splitlines()
        matching = [line for line in lines if line.startswith(prefix)]
        if matching:
            print(head, *matching, sep="\n")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [distribution.name for distribution in DISTRIBUTIONS]
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}")
    parser.add_argument("--sources", type=Path, help="keep the sources of the releases here")
    parser.add_argument("--show", metavar="PREFIX", help="print names of the database and stop")
    options = parser.parse_args(arguments)
    if options.show:
        show(options.show)
        return 0
    if unknown := set(options.names) - set(names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.sources or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for distribution in DISTRIBUTIONS:
            if not options.names or distribution.name in options.names:
                write(distribution, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
