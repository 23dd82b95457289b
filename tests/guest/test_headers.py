"""A kernel's headers work where they are, and with the guest's libraries."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from nandram.errors import UserError
from nandram.guest.driver_build import driver_module
from nandram.guest.folder import VERSIONS, Kernel, headers_folder, programs_folder
from nandram.guest.packages.headers import adapt

RELEASE = "6.12.1+deb13-cloud-amd64"
LOADER = '#!/bin/sh\nshift 3\necho started "$@"\n'


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o755)


def test_programs_start_with_the_guests_libraries(tmp_path: Path) -> None:
    tree = headers_folder(tmp_path, "6.12")
    kbuild = tree / "usr/lib/linux-kbuild-6.12.1+deb13"
    for name in (
        "scripts/basic/fixdep",
        "tools/objtool/objtool",
        "tools/objtool/objtool.real-x86",
        "scripts/mod/modpost",
    ):
        write(kbuild / name, b"\x7fELF of " + name.encode())
    write(kbuild / "scripts/a-script", "#!/bin/sh\n")
    write(programs_folder(tmp_path) / "usr/lib64/ld-linux-x86-64.so.2", LOADER)
    adapt(tree)
    for name, started in {
        "scripts/basic/fixdep": "fixdep.elf",
        "scripts/mod/modpost": "modpost.elf",
        "tools/objtool/objtool": "objtool.real-x86.elf",
    }.items():
        done = subprocess.run([str(kbuild / name), "an argument"], capture_output=True, text=True, check=True)
        word, path, argument = done.stdout.strip().split(maxsplit=2)
        assert (word, Path(path).name, argument) == ("started", started, "an argument")
        assert Path(path).read_bytes().startswith(b"\x7fELF")
    assert (kbuild / "scripts/a-script").read_text() == "#!/bin/sh\n"


def test_makefiles_name_no_folder_of_the_host(tmp_path: Path) -> None:
    makefile = tmp_path / f"usr/src/linux-headers-{RELEASE}/Makefile"
    common = tmp_path / "usr/src/linux-headers-6.12.1+deb13-common/Makefile"
    write(makefile, f"KBUILD_OUTPUT=/usr/src/{makefile.parent.name}\ninclude /usr/src/{common.parent.name}/Makefile\n")
    write(common, "all:\n\t@ls $(KBUILD_OUTPUT)/Makefile && echo included\n")
    adapt(tmp_path)
    line = ["make", "-s", "--no-print-directory", "-C", str(makefile.parent)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    found, included = done.stdout.splitlines()
    assert (Path(found).resolve(), included) == (makefile.resolve(), "included")


def test_a_driver_needs_headers_of_the_very_kernel(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path / "vmlinuz", tmp_path / RELEASE)
    fetch = "nandram guest fetch --headers --kernel 6.12"
    expected = f"{tmp_path}: found no headers of Linux {RELEASE}, expected them for the driver of a shared buffer; "
    with pytest.raises(UserError, match=re.escape(f"{expected}fetch them once with `{fetch}`")):
        driver_module(tmp_path, "6.12", kernel)
    tree = headers_folder(tmp_path, "6.12")
    write(tree / VERSIONS, json.dumps({"packages": {}}))
    write(tree / "usr/src/linux-headers-6.12.2+deb13-cloud-amd64/Makefile", "")
    with pytest.raises(UserError, match="found no headers"):
        driver_module(tmp_path, "6.12", kernel)
    with pytest.raises(UserError, match="expected a fetched kernel"):
        driver_module(tmp_path, "6.12", Kernel(tmp_path / "own"))
