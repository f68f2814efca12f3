"""Speed beside peers: ratios of one run, never a verdict. ``make bench`` prints them.

The peers live in a folder of their own, after all else on the path: nothing that the project uses comes from there.
"""

import sys
from pathlib import Path

PEERS = Path(__file__).parents[2] / ".venv" / "peers"
sys.path.append(str(PEERS))
