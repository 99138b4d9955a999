"""`download`: what arrives is checked, and nothing half-written stays."""

from __future__ import annotations

import http.server
import io
import re
import stat
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from isonn.errors import DatasetError
from isonn.graphs.datasets.fetch import download

module = sys.modules["isonn.graphs.datasets.fetch"]


def archive(members: dict[str, bytes], kind: int = stat.S_IFREG, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind | 0o644) << 16
            zipped.writestr(info, content, compress_type=method)
    return buffer.getvalue()


GOOD = archive({"DS/DS_A.txt": b"1, 2\n", "DS/sub/readme.txt": b"hello"})


class Server:
    """What a web server answers; ``content`` may change between requests."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.moved: dict[str, str] = {}
        self.promised: int | None = None
        answers = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path in answers.moved:
                    self.send_response(302)
                    self.send_header("Location", answers.moved[self.path])
                    self.end_headers()
                    return
                content = answers.content.get(self.path)
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(answers.promised or len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.http = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(module, "_SECURE", "http://")  # a server with a certificate is not needed to test the rest
    server = Server()
    server.content["/DS.zip"] = GOOD
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def cache(tmp_path) -> Path:
    return tmp_path / "cache"


def fetch(server: Server, cache: Path, file: str = "DS.zip", **rest) -> Path:
    name = Path(file).stem
    return download(f"{server.url}/{file}", cache / name, name, **rest)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) if folder.exists() else []


def test_an_archive_becomes_its_folder(server, cache):
    assert fetch(server, cache) == cache / "DS"
    assert names(cache) == ["DS", "DS/DS_A.txt", "DS/sub", "DS/sub/readme.txt"]


def test_an_archive_of_loose_files_becomes_a_folder(server, cache):
    server.content["/DS.zip"] = archive({"DS_A.txt": b"1, 2\n", "DS_graph_labels.txt": b"1\n"})
    fetch(server, cache)
    assert names(cache / "DS") == ["DS_A.txt", "DS_graph_labels.txt"]


def test_a_file_arrives_as_it_is(server, cache):
    server.content["/PTC.txt"] = b"344\n"
    target = download(f"{server.url}/PTC.txt", cache / "PTC" / "PTC.txt", "PTC")
    assert target.read_bytes() == b"344\n"
    assert names(cache) == ["PTC", "PTC/PTC.txt"]


@pytest.mark.parametrize("scheme", ["http", "ftp", "file"])
def test_only_https_is_used(cache, scheme):
    with pytest.raises(DatasetError, match=f"DS was not downloaded: {scheme}://host/DS.zip is not https://"):
        download(f"{scheme}://host/DS.zip", cache / "DS", "DS")
    assert names(cache) == []


@pytest.mark.parametrize("other", ["ftp://host/DS.zip", "https://127.0.0.1:1/DS.zip"])
def test_a_redirect_is_not_followed_to_another_kind_of_address(server, cache, other):
    server.moved["/old.zip"] = other  # the server's own kind is what `_SECURE` allows here
    with pytest.raises(DatasetError, match=f"leads to {other}, which is not http://"):
        fetch(server, cache, "old.zip")
    server.moved["/old.zip"] = f"{server.url}/DS.zip"
    assert fetch(server, cache, "old.zip") == cache / "old"


def test_progress_ends_at_the_size_of_the_file(server, cache, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 50)
    steps: list[tuple[int, int | None]] = []
    fetch(server, cache, on_progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (len(GOOD), len(GOOD))
    assert len(steps) > 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (archive({"DS/bomb.txt": bytes(3_000)}), r"unpacks to 3000 bytes in 1 files, too much"),
        (archive({f"DS/{i}": b"" for i in range(20)}), "unpacks to 0 bytes in 20 files, too much"),
        (b"<html>moved</html>", "is not a usable zip archive"),
        (GOOD[:-30], "is not a usable zip archive"),
        (archive({"DS/DS_A.txt": b"1, 2"}, method=zipfile.ZIP_STORED).replace(b"1, 2", b"9, 9"), "Bad CRC-32"),
    ],
    ids=["bomb", "many", "html", "cut", "damaged"],
)
def test_a_bad_archive_leaves_nothing(server, cache, tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(module, "MAX_BYTES", 2_500)
    monkeypatch.setattr(module, "MAX_MEMBERS", 10)
    server.content["/DS.zip"] = content
    with pytest.raises(DatasetError, match=message):
        fetch(server, cache)
    assert names(tmp_path) == ["cache"]


@pytest.mark.parametrize("name", ["../evil.txt", "DS/../../evil.txt", "/etc/evil.txt", "DS/link"])
def test_no_member_of_an_archive_leaves_its_folder(server, cache, tmp_path, name):
    kind = stat.S_IFLNK if name == "DS/link" else stat.S_IFREG
    server.content["/DS.zip"] = archive({"DS/DS_A.txt": b"", name: b"/etc/passwd"}, kind=kind)
    folder = fetch(server, cache)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert [path.name for path in cache.iterdir()] == ["DS"]
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    assert not Path("/etc/evil.txt").exists()


def test_a_file_beyond_any_dataset_is_not_read_to_its_end(server, cache, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    with pytest.raises(DatasetError, match="larger than 100 bytes"):
        fetch(server, cache)
    assert names(cache) == []


def test_a_connection_that_breaks_off_leaves_nothing(server, cache):
    server.promised = len(GOOD) + 1
    with pytest.raises(DatasetError, match=r"DS cannot be downloaded from .*; get it by hand"):
        fetch(server, cache)
    assert names(cache) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("moment", ["on_progress", "verify"])
def test_an_interruption_leaves_nothing(server, cache, moment, error):
    def interrupt(*_):
        raise error("stop")

    with pytest.raises(error, match="stop"):
        fetch(server, cache, **{moment: interrupt})
    assert names(cache) == []


def test_an_answer_of_404_names_the_url_and_the_place(server, cache):
    with pytest.raises(DatasetError, match=rf"{server.url}/NONE\.zip answers 404.*{re.escape(str(cache / 'NONE'))}"):
        fetch(server, cache, "NONE.zip")
    assert names(cache) == []


def test_without_a_network_the_place_for_the_files_is_named(server, cache):
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(DatasetError, match=f"cannot be downloaded from {server.url}/DS.zip .*put it at {cache / 'DS'}"):
        fetch(server, cache)
    assert names(cache) == []


def test_a_download_that_another_process_finished_first_is_kept(server, cache):
    def other_process(_):
        (cache / "DS").mkdir(parents=True)
        (cache / "DS" / "DS_A.txt").write_text("theirs")

    fetch(server, cache, verify=other_process)
    assert (cache / "DS" / "DS_A.txt").read_text() == "theirs"
    assert names(cache) == ["DS", "DS/DS_A.txt"]


def test_a_cache_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(DatasetError, match=r"cannot be stored in .*set XDG_CACHE_HOME"):
        fetch(server, tmp_path / "cache")
