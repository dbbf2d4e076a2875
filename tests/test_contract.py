"""Every public operation keeps every promise of the contract."""

import pytest

from backpass import functions, losses
from cases import CASES
from contract import CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_operation_keeps_the_promise(case, check):
    check(case, case.operation)


def test_every_public_operation_has_one_case():
    public = {*functions.__all__, *(name for name in losses.__all__ if name.islower())}
    assert sorted(case.name for case in CASES) == sorted(public)
