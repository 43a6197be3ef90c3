# SPDX-License-Identifier: GPL-2.0-only
"""The rules that mutants.py breaks can still be broken: the code that it replaces is there.

mutants.py takes too long for make test, and would notice a moved line only when it runs.
"""

import mutants
import pytest

ALL = {**mutants.MUTANTS, **mutants.SUITE_MUTANTS, **mutants.REPAIR_MUTANTS}


@pytest.mark.parametrize("name", ALL)
def test_code_is_there_once(name):
    file, code = ALL[name][:2]
    assert (mutants.TOP / file).read_text().count(code) == 1, f"in {file}: {code}"


def test_names_are_used_once():
    names = [*mutants.MUTANTS, *mutants.SUITE_MUTANTS, *mutants.REPAIR_MUTANTS]
    assert len(names) == len(set(names))
