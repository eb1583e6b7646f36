"""Reading what strangers send, in processes that can be killed: a function of ours and their bytes in, JSON out.

`processes` is the side that asks, `child` the process that reads, `seal` what the process gives up before it reads.
"""

from __future__ import annotations

import struct

LENGTH = struct.Struct(">Q")
"""Before each part of what they say to each other."""
OUT_OF_MEMORY = 77
"""What the process exits with when an allocation failed: there may be no room left to say so."""
