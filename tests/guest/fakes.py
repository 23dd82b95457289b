"""Stand-ins for Debian's programs: a loader that plays QEMU, and an apt whose packages are small."""

import json
import sys
from pathlib import Path

from nandram.guest.folder import PROGRAM_PACKAGES, VERSIONS, Kernel, Programs, kernel_folder, programs_folder

# Plays the steps of `scenario` as QEMU would: what the guest writes to the ports of its console.
LOADER = """#!{python}
import base64, json, os, re, sys, time
here = os.path.dirname(os.path.abspath(__file__))
if "--list" in sys.argv:
    sys.exit(0)
files = dict(re.findall(r"file,id=(\\w+),path=([^ ]+)", " ".join(sys.argv)))
with open(os.path.join(here, "started"), "a") as file:
    file.write(f"{{os.getpid()}}\\n")
for port, text in json.load(open(os.path.join(here, "scenario"))):
    if port == "sleep":
        time.sleep(text)
    elif port == "qemu":
        print(text, file=sys.stderr)
    else:
        with open(files[port], "ab") as file:
            file.write(base64.b64decode(text) if port == "files" else text.encode())
"""
Steps = list[tuple[str, object]]


def install(folder: Path) -> tuple[Programs, Kernel]:
    """Create a folder of programs and a kernel that play a scenario."""
    tree, kernel = programs_folder(folder), kernel_folder(folder, "6.12")
    for path, text in {
        tree / "usr/lib64/ld-linux-x86-64.so.2": LOADER.format(python=sys.executable),
        tree / "usr/bin/busybox": "#!/bin/sh\necho sh\necho ls\n",
        tree / "usr/bin/fio": "",
        tree / "etc/mke2fs.conf": "",
        kernel / "boot/vmlinuz-6.12.1+deb13-cloud-amd64": "",
        kernel / "lib/modules/6.12.1+deb13-cloud-amd64/modules.builtin": "kernel/drivers/nvme/host/nvme-core.ko\n",
        tree / VERSIONS: json.dumps({"packages": dict.fromkeys(PROGRAM_PACKAGES, "1:11.1.3")}),
        kernel / VERSIONS: json.dumps({"packages": {"linux-image-6.12.1": "6.12.1-1"}}),
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    image = kernel / "boot/vmlinuz-6.12.1+deb13-cloud-amd64"
    return Programs(tree), Kernel(image, kernel / "lib/modules/6.12.1+deb13-cloud-amd64", (("linux-image", "6.12"),))


def play(programs: Programs, steps: Steps) -> Path:
    """Set the scenario; return the file to which each QEMU appends its process id."""
    folder = programs.loader.parent
    (folder / "scenario").write_text(json.dumps(steps))
    return folder / "started"


class NoDrive:
    """A drive without a process."""

    def start(self, *_: object) -> list[str]:
        return []

    def check(self) -> None:
        pass

    def finish(self, *_: object) -> None:
        pass
