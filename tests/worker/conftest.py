"""One zygote for each file of tests that asks for it."""
import os

import pytest

from scripted import Zygote

PROGRAM = os.path.join(os.environ["ADDER_BUILD"], "adder-zygote")
PYTHON_ENV = os.environ.get("ADDER_PYTHON_ENV", "")


@pytest.fixture(scope="module")
def zygote():
    z = Zygote(PROGRAM, PYTHON_ENV)
    yield z
    z.stop()


@pytest.fixture
def run(zygote):
    """Runs one program in a worker of its own; see Worker.run."""
    return zygote.run
