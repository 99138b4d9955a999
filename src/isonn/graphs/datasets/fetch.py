"""Download one dataset, a file or a zip archive, and check it before it is used.

pooch transfers the file to a temporary folder next to the target. The last step is a single rename, so an error or
Ctrl-C leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from isonn.errors import DatasetError

OnProgress = Callable[[int, "int | None"], None]

MAX_BYTES = 8 * 2**30  # limit for a download and for an unpacked archive: many times the largest TU dataset
MAX_MEMBERS = 10_000
_CHUNK = 2**18
_TIMEOUT = 30.0  # seconds to wait for an answer
#: Required prefix of every address, including redirects.
_SECURE = "https://"


def download(
    url: str,
    target: Path,
    name: str,
    verify: Callable[[Path], object] | None = None,
    on_progress: OnProgress | None = None,
) -> Path:
    """Fetch ``url`` to ``target`` and return ``target``; a ``.zip`` becomes the folder ``target``.

    Args:
        name: the name of the dataset, for errors.
        verify: checks the content: called with the file or folder before it is moved to ``target``; an error stops
            the download.
        on_progress: called with the bytes read so far and the total, None if the server does not send it.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        room = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=target.parent))
    except OSError as error:
        raise DatasetError(
            f"{name} cannot be stored in {target.parent} ({error.strerror}); "
            f"set XDG_CACHE_HOME to a folder you may write to"
        ) from error
    try:
        archive = room / "download"
        _receive(url, archive, name, target, on_progress)
        ready = _unpack(archive, room / "unpacked", url) if url.endswith(".zip") else archive
        if verify is not None:
            verify(ready)
        _move(ready, target)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return target


class _Progress:
    """Progress bar for pooch that stops downloads larger than any dataset."""

    def __init__(self, url: str, on_progress: OnProgress | None) -> None:
        self.url, self.on_progress = url, on_progress
        self.total, self.done = 0, 0

    def update(self, count: int) -> None:
        self.done += count
        if max(self.done - _CHUNK, self.total) > MAX_BYTES:  # pooch counts whole chunks
            raise DatasetError(f"{self.url} is larger than {MAX_BYTES} bytes, too much for a dataset; get it by hand")
        if self.on_progress is not None:
            self.on_progress(min(self.done, self.total or self.done), self.total or None)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


def _receive(url: str, file: Path, name: str, target: Path, on_progress: OnProgress | None) -> None:
    import pooch
    import requests

    answers: list[Any] = []  # pooch does not close them after an error

    def only_secure(answer: Any, *_: Any, **__: Any) -> None:
        answers.append(answer)
        following = urljoin(answer.url, answer.headers["location"]) if answer.is_redirect else answer.url
        if not following.startswith(_SECURE):
            raise DatasetError(f"{name} was not downloaded: {url} leads to {following:.100}, which is not {_SECURE}")

    by_hand = f"get it by hand and put it at {target}"
    if not url.startswith(_SECURE):
        raise DatasetError(f"{name} was not downloaded: {url} is not {_SECURE}; {by_hand}")
    transfer = pooch.HTTPDownloader(
        progressbar=_Progress(url, on_progress), chunk_size=_CHUNK, timeout=_TIMEOUT, hooks={"response": only_secure}
    )
    try:
        transfer(url, str(file), None)
    except requests.HTTPError as error:
        raise DatasetError(
            f"{name} cannot be downloaded: {url} answers {answers[-1].status_code} {answers[-1].reason}; {by_hand}"
        ) from error
    except (requests.RequestException, OSError) as error:
        late, lost = isinstance(error, requests.Timeout), isinstance(error, requests.ConnectionError)
        reason = "timed out" if late else "no connection" if lost else " ".join(str(error).split())[:100]
        raise DatasetError(f"{name} cannot be downloaded from {url} ({reason}); {by_hand}") from error
    finally:
        for answer in answers:
            answer.close()


def _unpack(archive: Path, folder: Path, url: str) -> Path:
    """Unpack the archive; return the one folder it holds, or the folder its files were unpacked to.

    `pooch.Unzip` does not limit the unpacked size, so it is not used.
    """
    folder.mkdir()
    try:
        with zipfile.ZipFile(archive) as zipped:
            members = zipped.infolist()
            total = sum(member.file_size for member in members)
            if total > MAX_BYTES or len(members) > MAX_MEMBERS:
                raise DatasetError(
                    f"the archive of {url} unpacks to {total} bytes in {len(members)} files, too much for a dataset; "
                    f"it was not unpacked"
                )
            zipped.extractall(folder)  # no member can leave the folder, and links become plain files
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise DatasetError(f"the download from {url} is not a usable zip archive ({error}); try again later") from error
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _move(ready: Path, target: Path) -> None:
    try:
        os.replace(ready, target)
    except OSError as error:
        if not target.exists():  # else another process finished the same download
            raise DatasetError(f"{target} cannot be written ({error.strerror}); check its permissions") from error
