"""Run the command as ``python -m backpass``."""

import sys

from backpass._cli import main

sys.exit(main())
