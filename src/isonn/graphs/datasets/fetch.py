"""Fetching one dataset: a file or a zip archive, checked before it takes its place.

Everything happens in a temporary folder next to the target; the last step is one rename, so that an
error or Ctrl-C leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import stat
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

from isonn.errors import DatasetError

OnProgress = Callable[[int, "int | None"], None]

MAX_BYTES = 8 * 2**30  # of a download, and of an archive unpacked: many times the largest TU dataset
MAX_MEMBERS = 10_000
_CHUNK = 2**18


def download(
    url: str,
    target: Path,
    name: str,
    checksums: Path,
    verify: Callable[[Path], object] | None = None,
    on_progress: OnProgress | None = None,
    timeout: float = 30.0,
) -> Path:
    """Fetch ``url`` to ``target`` and return ``target``; a ``.zip`` becomes the folder ``target``.

    The SHA-256 of what came is kept in ``checksums`` under ``name``; if it came before with another, it is
    refused.

    Args:
        verify: called with the file or folder before it takes its place; what it raises stops the download.
        on_progress: called with the bytes read so far and, where the server tells, all bytes.
        timeout: seconds without an answer after which to give up.
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
        digest = _receive(url, archive, name, target, on_progress, timeout)
        _compare(name, url, digest, checksums)
        ready = archive
        if url.endswith(".zip"):
            ready = _unpack(archive, room / "unpacked", url)
        if verify is not None:
            verify(ready)
        _move(ready, target)
        _record(name, digest, checksums)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return target


def _receive(url: str, file: Path, name: str, target: Path, on_progress: OnProgress | None, timeout: float) -> str:
    hasher = hashlib.sha256()
    done = 0
    by_hand = f"get it by hand and put it at {target}"
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "isonn"})
        with urllib.request.urlopen(request, timeout=timeout) as answer, file.open("xb") as out:
            length = answer.headers.get("Content-Length")
            total = int(length) if length is not None and length.isdigit() else None
            while chunk := answer.read(_CHUNK):
                done += len(chunk)
                if max(done, total or 0) > MAX_BYTES:
                    raise DatasetError(f"{url} is larger than {MAX_BYTES} bytes, too much for {name}; {by_hand}")
                out.write(chunk)
                hasher.update(chunk)
                if on_progress is not None:
                    on_progress(done, total)
    except urllib.error.HTTPError as error:
        error.close()
        raise DatasetError(
            f"{name} cannot be downloaded: {url} answers {error.code} {error.reason}; {by_hand}"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DatasetError(f"{name} cannot be downloaded from {url} ({reason}); {by_hand}") from error
    if total is not None and done != total:
        raise DatasetError(
            f"the download of {name} from {url} stopped at {done} of {total} bytes; try again, or {by_hand}"
        )
    return hasher.hexdigest()


def _unpack(archive: Path, folder: Path, url: str) -> Path:
    """The folder the archive holds, or, when it holds files, the folder they are unpacked to."""
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
            for member in members:
                _check_member(member, url)
            for member in members:
                place = folder / PurePosixPath(member.filename)
                if member.is_dir():
                    place.mkdir(parents=True, exist_ok=True)
                    continue
                place.parent.mkdir(parents=True, exist_ok=True)
                with zipped.open(member) as source, place.open("xb") as out:
                    shutil.copyfileobj(source, out, _CHUNK)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise DatasetError(f"what {url} sent is not a usable zip archive ({error}); try again later") from error
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _check_member(member: zipfile.ZipInfo, url: str) -> None:
    name = member.filename
    parts = PurePosixPath(name).parts
    outside = name.startswith("/") or ".." in parts or "\\" in name or bool(PureWindowsPath(name).drive)
    kind = stat.S_IFMT(member.external_attr >> 16)
    if outside or not parts or kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        what = "leads out of its folder" if outside else "is not a plain file"
        raise DatasetError(f"the archive of {url} has the member {name!r}, which {what}; nothing was unpacked")


def _move(ready: Path, target: Path) -> None:
    try:
        os.replace(ready, target)
    except OSError as error:
        if not target.exists():  # there: another process finished the same download first
            raise DatasetError(f"{target} cannot be written ({error.strerror}); check its permissions") from error


def _compare(name: str, url: str, digest: str, checksums: Path) -> None:
    before = _read(checksums).get(name)
    if before is not None and before != digest:
        raise DatasetError(
            f"{url} changed: its SHA-256 is {digest}, and was {before} when {name} was first fetched; if you trust the "
            f"new file, delete {name} from {checksums} and fetch again"
        )


def _record(name: str, digest: str, checksums: Path) -> None:
    record = {**_read(checksums), name: digest}
    checksums.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".checksums-", dir=checksums.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(record, out, indent=2, sort_keys=True)
        os.replace(temporary, checksums)
    except BaseException:
        os.unlink(temporary)
        raise


def _read(checksums: Path) -> dict[str, str]:
    try:
        record = json.loads(checksums.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DatasetError(f"{checksums} cannot be read ({error}); delete it to start a new one") from error
    if not isinstance(record, dict):
        raise DatasetError(f"{checksums} does not hold names and checksums; delete it to start a new one")
    return record
