"""Link to other projects from short committed lists, so that a build needs no network.

``_inventories/<project>.txt`` holds one ``name domain:role location`` a line, below a first line
with the project's address. The real inventory of a large project would be megabytes for six links.
"""

import zlib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

HEADER = "# Sphinx inventory version 2\n# Project: {}\n# Version: \n# compressed with zlib\n"


def compress(project: str, lines: list[str]) -> bytes:
    """Return the inventory file of ``name domain:role location`` lines."""
    body = "".join(f"{name} {role} 1 {where} -\n" for name, role, where in map(str.split, lines))
    return HEADER.format(project).encode() + zlib.compress(body.encode(), 9)


def add_inventories(app: Sphinx, config: Config) -> None:
    """Compress each list into the output folder and name it to intersphinx."""
    folder = Path(app.doctreedir, "inventories")
    folder.mkdir(parents=True, exist_ok=True)
    for listing in sorted(Path(app.confdir, "_inventories").glob("*.txt")):
        address, *lines = listing.read_text("utf-8").splitlines()
        inventory = folder / f"{listing.stem}.inv"
        inventory.write_bytes(compress(listing.stem, lines))
        config.intersphinx_mapping[listing.stem] = (address, str(inventory))


def setup(app: Sphinx) -> dict[str, bool]:
    """Run before intersphinx validates its mapping at priority 800."""
    app.connect("config-inited", add_inventories, priority=700)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
