"""HTML pages of one file: style and script inside, no network, everything a user named escaped."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from isonn import __version__
from isonn.errors import InputError, MissingDependencyError
from isonn.files import atomic_file


def render(name: str, **content: Any) -> str:
    """The page of that name (a file in ``html``) as text.

    The page's own policy lets run the one script and the one style sheet whose hash it names, and no request at
    all: a name with markup in it could do nothing even if it were not escaped.
    """
    jinja2 = _jinja2()
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isonn.report", "html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, signed=signed)
    style, script = _file("style.css") + _file("drawing.css"), _file("page.js")
    from markupsafe import Markup

    text: str = environment.get_template(name).render(
        version=__version__,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        **content,
    )
    return text


def check_new(path: Path) -> None:
    """Refuse a file that exists."""
    if path.exists():
        raise InputError(f"{path} exists already; choose another name, or remove it first")


def write(path: Path, text: str) -> None:
    """Write a page whole or not at all; an older one is replaced."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give --out the name of a file, such as {path / 'report.html'}")
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def require_jinja2() -> None:
    """Say at once, and not after minutes of work, that pages cannot be made."""
    _jinja2()


def percent(share: float) -> str:
    """A share of 1 in percent.

    Example:
        >>> percent(0.934), percent(0.99999)
        ('93.4 %', '> 99.9 %')
    """
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def signed(value: float) -> str:
    """A number with its sign, to three digits.

    Example:
        >>> signed(0.25), signed(-12.3456), signed(-0.0)
        ('+0.250', '-12.3', '0')
    """
    if value == 0:
        return "0"
    size = abs(value)
    text = f"{size:.3f}" if 0.001 <= size < 10 else f"{size:.1f}" if 10 <= size < 1e5 else f"{size:.1e}"
    return f"{'+' if value > 0 else '-'}{text}"


def _jinja2() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise MissingDependencyError("pages need jinja2; pip install 'isonn[report]'") from error
    return jinja2


def _file(name: str) -> str:
    return (files("isonn.report") / "html" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
