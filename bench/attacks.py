"""`python -m bench.attacks`: how long `/healthz` waits while each of the small requests is sent ten times a second, and
how much the server computed at once: what is on the wall depends on the machine's other work, and that does not."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.security.attacks import ATTACKS, attack
from tests.security.fortress import Fortress

TIMES = 20


def main() -> None:
    print(f"{'attack':44} {'answers':>8} {'asked':>6} {'median ms':>10} {'slowest ms':>11} {'computed ms':>12}")
    with tempfile.TemporaryDirectory() as folder, Fortress(Path(folder)) as fortress:
        for name in ATTACKS:
            found = attack(fortress, name, TIMES)
            waits = sorted(found.waits)
            said = "/".join(map(str, sorted(set(found.statuses))))
            print(
                f"{name:44} {said:>8} {len(waits):>6} {waits[len(waits) // 2] * 1000:>10.1f} {waits[-1] * 1000:>11.1f} "
                f"{found.held * 1000:>12.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
