"""Run a command of the command line inside the test's own process."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache

import pytest
from typer.main import get_command

from isonn.cli import main


def run(*arguments, **environment):
    """The command as a shell would run it, without the seconds a new process takes to import torch."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(stdout), redirect_stderr(stderr):
        patch.setattr(sys, "argv", ["isonn", *map(str, arguments)])
        patch.setattr("typer.main.get_command", _get_command)
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
    if "torch, which is not installed" in stderr.getvalue():
        pytest.skip("torch is not installed")
    return subprocess.CompletedProcess(arguments, code, stdout.getvalue(), stderr.getvalue())


_get_command = cache(get_command)  # builds all commands, which most tests would wait for longer than for their own


def refused(result, *words):
    """Exit code 2 and one sentence on standard error, nothing else."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    for word in words:
        assert word in result.stderr
