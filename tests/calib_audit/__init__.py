"""What tests of the report share."""

from typing import Any

# Where only what was measured counts: that no verdict is open saves how many rows it would take.
DECIDED: Any = {"cross_fit": 0, "tolerance": 0.9, "relative_tolerance": 1.0}
