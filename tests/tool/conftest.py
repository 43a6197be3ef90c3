# SPDX-License-Identifier: GPL-2.0-only
import pytest

from fake import Fake


@pytest.fixture
def dm(tmp_path):
    return Fake(tmp_path)
