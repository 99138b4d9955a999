"""What the site needs beyond Markdown: formulas as MathML, the reference of commands, links to the repository."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

sys.path.insert(0, str(Path(__file__).parent))
from run_pages import FENCE, OUTPUT, commands_by_name, unknown_option

COMMANDS = "reference/commands.md"
#: Lines of output that a tutorial shows below a block.
LINES = 16
#: Files of the repository, outside the site, that pages name.
FORGE = re.compile(
    r"\[([^\]]+)\]\((\.\./)+(CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|examples/?[^)]*|benchmarks/?[^)]*)\)"
)
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
SPHINX_BLOCK = re.compile(r"<p>\.\. math:: (.*?)</p>", re.DOTALL)
SPHINX_INLINE = re.compile(r":math:<code>(.*?)</code>", re.DOTALL)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Formulas become MathML, tutorials show what they print, and the page of commands is written from the commands."""
    if wrong := unknown_option(markdown):
        raise PluginError(f"{page.file.src_uri} {wrong}")
    if page.file.src_uri == COMMANDS:
        return markdown + commands()
    if page.file.src_uri.startswith("tutorials/"):
        markdown = with_output(markdown, page.file.src_uri)
    parts = CODE.split(markdown)
    for i in range(0, len(parts), 2):  # every other part is code
        text = FORGE.sub(r"\1", parts[i])
        text = re.sub(r"\$\$(.+?)\$\$", lambda found: convert(found[1], display="block"), text, flags=re.DOTALL)
        parts[i] = re.sub(r"\$([^$\n]+?)\$", lambda found: convert(found[1]), text)
    return "".join(parts)


def with_output(markdown: str, page: str) -> str:
    """The page with what its blocks printed below each of them; docs/run_pages.py has run them."""
    kept = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.exists() else {}
    printed = iter(kept.get(page, ()))

    def shown(block: re.Match[str]) -> str:
        lines = next(printed, "").rstrip().splitlines()
        if len(lines) > LINES:
            lines = [*lines[: LINES - 1], "..."]
        return "\n".join([block[0], "", "```text", *lines, "```"]) if lines else block[0]

    return FENCE.sub(shown, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Formulas of docstrings become MathML."""
    html = SPHINX_BLOCK.sub(lambda found: f"<p>{convert(_plain(found[1]), display='block')}</p>", html)
    return SPHINX_INLINE.sub(lambda found: convert(_plain(found[1])), html)


def on_post_page(output: str, **_: Any) -> str:
    """The theme takes the script for search in pages opened from disk from another server; ours is in the page."""
    own = (Path(__file__).parent / "worker.js").read_text(encoding="utf-8")
    output = output.replace('<script src="https://unpkg.com/iframe-worker/shim"></script>', f"<script>{own}</script>")
    if found := re.search(r'<(script|link|img|iframe)\b[^>]* (src|href)="?https?:', output):
        raise PluginError(f"the site would load something from elsewhere: {found[0]}")
    return output


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """The same for the pages of the theme (404.html)."""
    return on_post_page(output_content) if template_name.endswith(".html") else output_content


def _plain(html: str) -> str:
    import html as entities

    return entities.unescape(re.sub(r"<[^>]+>", "", html)).strip()


def commands() -> str:
    """Every command with its arguments and options, as Markdown."""
    return "\n".join(
        line for name, command in commands_by_name().items() for line in _command(f"isonn {name}", command)
    )


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
