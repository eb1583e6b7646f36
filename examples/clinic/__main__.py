"""`python -m examples.clinic [--port 0] [--open]`: serves the clinic on loopback and prints its address."""

from __future__ import annotations

import argparse
import time
from contextlib import suppress

from examples.clinic.serving import serve


def main() -> None:
    parser = argparse.ArgumentParser("python -m examples.clinic", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any port that is free")
    parser.add_argument("--open", action="store_true", help="let everybody in, without the sign-in page")
    options = parser.parse_args()
    with serve(port=options.port, sign_in=not options.open) as served, suppress(KeyboardInterrupt):
        print(served.url, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
