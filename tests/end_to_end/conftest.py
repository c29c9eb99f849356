"""The modules of this folder import each other by their plain names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
