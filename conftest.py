"""What all tests need: names for the examples in docstrings, and a Ctrl-C that arrives."""

from __future__ import annotations

import signal

import numpy
import pytest
import torch

import isonn

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell starts what runs in its background with Ctrl-C ignored, and that is inherited: the tests send it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def doctest_names(doctest_namespace, tmp_path_factory):
    """Here and not in tests/, for the examples lie in src/."""
    doctest_namespace.update(isonn=isonn, np=numpy, torch=torch, tmp_path=tmp_path_factory.mktemp("doctest"))
