"""What hangs for one tenant is nothing to another."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.faults.back_end import BackEnd
from tests.faults.neighbours import hold_one_tenant, make_options
from tests.faults.site import Site


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_tenant_whose_back_end_hangs_holds_up_nobody_else(open_site: Callable[..., Site], back_end: BackEnd) -> None:
    made = hold_one_tenant(open_site(**make_options(back_end)), back_end)
    print(made)
    assert made.held
    assert made.report.faults == {}
