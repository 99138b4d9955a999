"""What the site needs beyond Markdown: formulas as MathML, the reference of commands, links to the repository."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

COMMANDS = "reference/commands.md"
#: Files of the repository, outside the site, that pages name.
FORGE = re.compile(
    r"\[([^\]]+)\]\((\.\./)+(CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|examples/?[^)]*|benchmarks/?[^)]*)\)"
)
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
SPHINX_BLOCK = re.compile(r"<p>\.\. math:: (.*?)</p>", re.DOTALL)
SPHINX_INLINE = re.compile(r":math:<code>(.*?)</code>", re.DOTALL)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Formulas become MathML; the page of commands is written from the commands themselves."""
    if page.file.src_uri == COMMANDS:
        return markdown + commands()
    parts = CODE.split(markdown)
    for i in range(0, len(parts), 2):  # every other part is code
        text = FORGE.sub(r"\1", parts[i])
        text = re.sub(r"\$\$(.+?)\$\$", lambda found: convert(found[1], display="block"), text, flags=re.DOTALL)
        parts[i] = re.sub(r"\$([^$\n]+?)\$", lambda found: convert(found[1]), text)
    return "".join(parts)


def on_page_content(html: str, **_: Any) -> str:
    """Formulas of docstrings become MathML."""
    html = SPHINX_BLOCK.sub(lambda found: f"<p>{convert(_plain(found[1]), display='block')}</p>", html)
    return SPHINX_INLINE.sub(lambda found: convert(_plain(found[1])), html)


def _plain(html: str) -> str:
    import html as entities

    return entities.unescape(re.sub(r"<[^>]+>", "", html)).strip()


def commands() -> str:
    """Every command with its arguments and options, as Markdown."""
    from typer.main import get_command

    from isonn.cli import app

    top = get_command(app)
    lines: list[str] = []
    for name, command in top.commands.items():  # type: ignore[attr-defined]
        for own, inner in getattr(command, "commands", {"": command}).items():
            lines += _command(f"isonn {name} {own}".strip(), inner)
    return "\n".join(lines)


def _command(name: str, command: Any) -> list[str]:
    lines = ["", f"## {name}", "", (command.help or "").strip(), "", "| | | default |", "|---|---|---|"]
    for option in command.params:
        if option.name == "help":
            continue
        words = option.opts + option.secondary_opts if option.param_type_name == "option" else [option.name.upper()]
        shown = " / ".join(f"`{word}`" for word in words)
        chosen = getattr(option, "show_default", None)
        default = chosen if isinstance(chosen, str) else option.default
        told = "" if default in (None, False, ()) or callable(default) or chosen is False else f"{default}"
        about = (getattr(option, "help", "") or "").replace("|", "\\|")
        lines.append(f"| {shown} | {about} | {'required' if option.required else told} |")
    return lines
