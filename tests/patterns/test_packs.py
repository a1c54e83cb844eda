"""Packs: checked whole, written whole, and nothing but data; whatever an archive claims."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from ethogram.cli.main import main
from ethogram.patterns import library, packs
from ethogram.patterns.lock import FILE as LOCK
from pattern_files import BUSY, write
from settings_files import trusted_settings
from small import HOT, WARM, write_patterns


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder beside a library with one pattern, and `acme`, a pack that is in order."""
    write_patterns(tmp_path / "shipped", WARM)
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
    monkeypatch.chdir(tmp_path)
    write(Path("acme"))
    write(Path("acme/more"), BUSY)
    Path("acme/README.md").write_text("# Acme\n")
    lock("acme")
    return tmp_path


def lock(name: str) -> None:
    assert main(["patterns", "lock", "--folder", name]) == 0


@pytest.fixture
def run(capsys):
    """(exit code, lines of output, text of errors) of `ethogram patterns ...`."""
    capsys.readouterr()

    def command(*args: str) -> tuple[int, list[str], str]:
        code = main(["patterns", *args])
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err

    return command


def contents(name: str = "acme") -> dict[str, bytes]:
    root = Path(name)
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def zipped(files: dict[str, bytes], path: str = "acme.zip") -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tarred(files: dict[str, bytes], path: str = "acme.tar.gz", *more: tarfile.TarInfo) -> str:
    with tarfile.open(path, "w:gz" if path.endswith("gz") else "w") as archive:
        for name, content in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(content)
            archive.addfile(item, io.BytesIO(content))
        for item in more:
            archive.addfile(item)
    return path


def nothing_is_left() -> bool:
    return not Path("packs").exists() or not list(Path("packs").iterdir())


# --- installing -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: "acme",
        lambda: zipped(contents()),
        lambda: zipped({f"acme-1.2/{name}": content for name, content in contents().items()}),
        lambda: tarred(contents()),
        lambda: tarred({f"./{name}": content for name, content in contents().items()}, "acme.tgz"),
        lambda: tarred({f"top/{name}": content for name, content in contents().items()}, "acme.tar"),
    ],
    ids=["folder", "zip", "zip with a top folder", "tar.gz", "tgz with dots", "tar with a top folder"],
)
def test_a_pack_is_installed_used_listed_and_removed(run, make):
    source = make()
    assert run("install", source) == (
        0,
        [
            "busy: is new",
            "outburst: is new",
            "pack acme: 2 patterns in packs/acme",
            "To use it: --patterns packs/acme, or patterns: [packs] in ethogram.yaml",
        ],
        "",
    )
    assert {name: text for name, text in contents("packs/acme").items() if name != packs.RECORD} == contents()
    assert run("test", "packs/acme")[0] == 0
    assert run("lock", "--folder", "packs/acme", "--check")[0] == 0
    _, lines, _ = run("list", "packs")
    assert [line.rpartition("  ")[2] for line in lines] == ["[pack acme]"] * 2
    assert run("remove", "acme") == (0, ["removed pack acme: 2 patterns"], "")
    assert nothing_is_left()


def test_every_form_of_a_pack_has_the_same_digest(run):
    digests = set()
    for source in ("acme", zipped(contents()), tarred(contents())):
        code, lines, _ = run("install", source, "--json")
        assert code == 0
        digests.add(json.loads(lines[0])["digest"])
    assert len(digests) == 1


def test_a_trusted_settings_file_that_names_the_folder_needs_no_hint(run, folder):
    run("install", "acme")
    trusted_settings(folder, "patterns: [packs]\n")
    assert run("install", "acme")[1] == ["pack acme: 2 patterns in packs/acme"]
    assert [line.split()[0] for line in run("list")[1]] == ["busy", "outburst", "warm_then_cold"]


def test_a_file_that_changed_after_installing_says_so(run):
    run("install", "acme")
    file = Path("packs/acme/outburst.yaml")
    file.write_text(file.read_text().replace("+ 0.5", "+ 0.6"))
    _, lines, _ = run("list", "packs", "--json")
    assert [json.loads(line)["pack"] for line in lines] == ["acme", "acme (changed)"]
    assert run("lock", "--folder", "packs/acme", "--check")[0] == 2
    assert any("pack acme (changed)" in line for line in run("show", "packs/acme/outburst.yaml")[1])


def test_a_pack_that_lost_a_file_says_so(run):
    run("install", "acme")
    Path("packs/acme/more/busy.yaml").unlink()
    assert [line.rpartition("  ")[2] for line in run("list", "packs")[1]] == ["[pack acme (incomplete)]"]


def test_changes_to_an_installed_pack_are_not_lost(run):
    run("install", "acme")
    edited, gone = Path("packs/acme/outburst.yaml"), Path("packs/acme/README.md")
    mine = edited.read_text().replace("+ 0.5", "+ 0.6")
    edited.write_text(mine)
    gone.unlink()
    code, _, said = run("install", "acme")
    assert (code, edited.read_text(), gone.exists()) == (2, mine, False)
    assert "the pack acme was changed in packs/acme: README.md, outburst.yaml; --replace discards" in said
    assert run("install", "acme", "--replace")[0] == 0
    assert run("install", "acme")[0] == 0
    assert edited.read_bytes() == Path("acme/outburst.yaml").read_bytes()


def test_a_damaged_record_is_called_so(run):
    run("install", "acme")
    (Path("packs/acme") / packs.RECORD).write_text("{")
    assert "packs/acme is not an installed pack (its pack.json is damaged)" in run("remove", "acme")[2]
    assert "exists and is not a pack (its pack.json is damaged)" in run("install", "acme")[2]
    assert "(it has no pack.json)" in run("remove", "nothing")[2]


def test_another_version_needs_replace_and_says_what_changed(run):
    run("install", "acme")
    write(Path("acme"), description="Other words.")
    lock("acme")
    code, _, said = run("install", "acme")
    assert (code, "--replace" in said) == (2, True)
    code, lines, _ = run("install", "acme", "--replace")
    assert (code, lines[-3:-1]) == (
        0,
        ["outburst: only words changed", "pack acme: 2 patterns in packs/acme"],
    )


def test_files_of_others_are_never_removed(run):
    run("install", "acme")
    mine = Path("packs/acme/more/mine.txt")
    mine.write_text("mine")
    write(Path("acme"), description="Other words.")
    lock("acme")
    assert "mine.txt does not belong to the pack" in run("install", "acme", "--replace")[2]
    assert Path("packs/acme/outburst.yaml").exists()
    assert run("remove", "acme")[0] == 0
    assert [path for path in Path("packs").rglob("*") if path.is_file()] == [mine]


@pytest.mark.parametrize("name", ["../acme", "nothing", ".", "..", "mine"])
def test_only_a_pack_can_be_removed(run, name):
    Path("packs/mine").mkdir(parents=True)
    assert run("remove", name)[0] == 2
    assert Path("acme/outburst.yaml").exists()


def test_a_record_that_leads_out_of_its_folder_is_none(run):
    run("install", "acme")
    record = Path("packs/acme") / packs.RECORD
    record.write_text(
        json.dumps({"format": 1, "name": "acme", "digest": "", "files": {"../../acme/x.yaml": ""}})
    )
    assert run("remove", "acme")[0] == 2
    assert Path("packs/acme/outburst.yaml").exists()


# --- refusing -------------------------------------------------------------------------------


def refused(run, source: str, *args: str) -> str:
    code, lines, said = run("install", source, *args)
    assert (code, lines) == (2, [])
    assert nothing_is_left()
    assert not Path("owned.yaml").exists()
    return said


@pytest.mark.parametrize(
    "name", ["run.py", "setup.sh", "__init__.py", "more/x.so", "ethogram.yaml", "data.csv"]
)
@pytest.mark.parametrize("make", [zipped, tarred])
def test_what_is_no_pattern_is_refused(run, make, name):
    assert "is not allowed in a pack" in refused(run, make({**contents(), name: b"x"}))


@pytest.mark.parametrize(
    "name",
    [
        "../owned.yaml",
        "/tmp/owned.yaml",
        "a/../../owned.yaml",
        "..\\owned.yaml",
        "C:owned.yaml",
        ".git/x.yaml",
        "a/b/c/d/e/f.yaml",
        "a//b.yaml",
        "x\x1b[2J.yaml",
        "x\n.yaml",
        "ü.yaml",
    ],
)
@pytest.mark.parametrize("make", [zipped, tarred])
def test_paths_that_lead_elsewhere_are_refused(run, make, name):
    said = refused(run, make({**contents(), name: b"x"}))
    assert "unsafe path" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(run, kind):
    item = tarfile.TarInfo("link.yaml")
    item.type, item.linkname = kind, "/etc/passwd"
    assert "is a link or no plain file" in refused(run, tarred(contents(), "acme.tar.gz", item))


def test_links_in_a_zip_are_refused(run):
    with zipfile.ZipFile("acme.zip", "w") as archive:
        item = zipfile.ZipInfo("link.yaml")
        item.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(item, "/etc/passwd")
    assert "is a link or no plain file" in refused(run, "acme.zip")


def test_links_and_pipes_in_a_folder_are_refused(run):
    Path("acme/link.yaml").symlink_to("/etc/passwd")
    assert "is a link or no plain file" in refused(run, "acme")
    Path("acme/link.yaml").unlink()
    Path("acme/outside").symlink_to("/etc")
    assert "is a link or no plain file" in refused(run, "acme")
    Path("acme/outside").unlink()
    os.mkfifo("acme/pipe.yaml")
    assert "is a link or no plain file" in refused(run, "acme")


def test_a_pipe_is_no_archive(run):
    os.mkfifo("acme.zip")
    assert "acme.zip: is not a plain file" in refused(run, "acme.zip")


def test_a_zip_bomb_is_refused(run):
    assert "is larger than 128 KB" in refused(run, zipped({"big.yaml": bytes(50_000_000)}))


def test_a_tar_bomb_is_refused(run):
    with gzip.open("acme.tar.gz", "wb", compresslevel=1) as file:
        for _ in range(40):
            file.write(bytes(2**20))
    assert "unpacks to more than 16 MB" in refused(run, "acme.tar.gz")


def test_many_files_and_much_in_all_are_refused(run, monkeypatch):
    assert "has more than 500 files" in refused(run, zipped({f"p{n}.yaml": b"x" for n in range(501)}))
    monkeypatch.setattr(packs, "MAX_TOTAL", 100_000)
    assert "has more than 0 MB" in refused(run, tarred({f"p{n}.yaml": bytes(60_000) for n in range(2)}))
    monkeypatch.setattr(packs, "MAX_ARCHIVE", 10)
    assert "is larger than 0 MB" in refused(run, "acme.zip")


def test_names_that_are_one_file_on_some_systems_are_refused(run):
    assert "is there twice" in refused(run, zipped({"a.yaml": b"x", "A.yaml": b"y"}))


@pytest.mark.parametrize("name", ["acme.zip", "acme.tar", "acme.tar.gz"])
@pytest.mark.parametrize(
    "data", [b"", b"nonsense" * 200, b"PK\x03\x04" + bytes(40), b"\x1f\x8b\x08" + bytes(30)]
)
def test_damaged_archives_are_refused(run, name, data):
    Path(name).write_bytes(data)
    assert refused(run, name)


def test_truncated_archives_are_refused(run):
    for source in (zipped(contents()), tarred(contents())):
        whole = Path(source).read_bytes()
        for size in range(10, len(whole), 97):
            Path(source).write_bytes(whole[:size])
            assert refused(run, source)


def test_an_encrypted_zip_is_refused(run):
    data = bytearray(Path(zipped(contents())).read_bytes())
    place = data.find(b"PK\x01\x02")
    data[place + 8] |= 1
    Path("acme.zip").write_bytes(data)
    assert "is encrypted" in refused(run, "acme.zip")


def test_a_pack_without_a_lock_or_with_another_one_is_refused(run):
    files = contents()
    assert f"has no {LOCK}" in refused(run, zipped({name: files[name] for name in files if name != LOCK}))
    changed = {**files, "outburst.yaml": files["outburst.yaml"].replace(b"+ 0.5", b"+ 0.6")}
    said = refused(run, zipped(changed))
    assert (
        f"packs/acme/{LOCK}: outburst: meaning changed; the lock of the pack does not fit its patterns"
        in said
    )
    only = {name: files[name] for name in files if name != "more/busy.yaml"}
    assert "busy: is gone" in refused(run, zipped(only))


def test_faults_of_patterns_are_named_by_where_they_would_be(run):
    said = refused(run, zipped({**contents(), "wrong.yaml": b"name: wrong\nshape: {sequence: 3}\n"}))
    assert said.startswith("packs/acme/wrong.yaml:")


def test_a_yaml_file_cannot_run_or_expand_anything(run):
    for text in (b"name: !!python/object/apply:os.system [touch owned]\n", b"a: &a [1]\nb: *a\n"):
        assert refused(run, zipped({**contents(), "wrong.yaml": text}))
        assert not Path("owned").exists()


def test_names_of_the_library_and_of_other_packs_are_taken(run):
    write_patterns(Path("evil"), WARM)
    lock("evil")
    run("list")
    assert "pattern 'warm_then_cold' is also in the library" in refused(run, "evil")
    run("install", "acme")
    code, _, said = run("install", "acme", "--name", "again")
    assert (code, "pattern 'outburst' is also in packs/acme/outburst.yaml" in said) == (2, True)


@pytest.mark.parametrize("name", ["../x", "A", "a b", ".hidden", "x" * 65])
def test_a_pack_needs_a_plain_name(run, name):
    assert "invalid name of a pack" in refused(run, "acme", "--name", name)


def test_a_folder_that_is_no_pack_is_not_written_over(run):
    write_patterns(Path("packs/acme"), HOT)
    assert "exists and is not a pack" in run("install", "acme")[2]
    assert run("install", "missing.zip")[0] == run("install", "acme/README.md")[0] == 2
