"""Resolves and downloads Debian packages with the host's apt in a root of its own, which leaves the host unchanged.

The root has its own package lists, an empty list of installed packages, and one address for all releases. apt verifies
the signatures of the lists and the hashes of the packages.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from nandram.errors import UserError

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_NETWORK = re.compile(r"resolve|connect|timed out|unreachable|Failed to fetch|404|403|Connection", re.IGNORECASE)
_DISK = re.compile(r"no space left|enough free space|not enough space", re.IGNORECASE)


class Apt:
    """A private root of apt below a folder: for packages of amd64, or for the sources of packages."""

    def __init__(self, root: Path, mirror: str, keys: Path, releases: Sequence[str], *, sources: bool = False) -> None:
        self._root = root
        self._mirror = mirror
        self._configuration = root / "apt.conf"
        for name in ("state/lists/partial", "cache/archives/partial", "etc/none"):
            (root / name).mkdir(parents=True)
        (root / "state/status").touch()
        kind = "deb-src" if sources else "deb"
        lines = [f"{kind} [arch=amd64 signed-by={keys}] {mirror} {release} main\n" for release in releases]
        (root / "etc/sources.list").write_text("".join(lines))
        (root / "etc/preferences").write_text(_PREFERENCES)
        self._configuration.write_text(_CONFIGURATION.replace("ROOT", str(root)))

    def update(self) -> None:
        """Fetch the lists of packages. Raises `UserError`."""
        self._run("apt-get", "update", "--error-on=any")

    def names(self, prefix: str) -> list[str]:
        """Return the names of the packages that begin with `prefix`."""
        return self._run("apt-cache", "pkgnames", prefix).split()

    def closure(self, packages: Iterable[str]) -> dict[str, str]:
        """Return the packages, and those that they depend on, with their versions. Raises `UserError`."""
        text = self._run("apt-get", "install", "--simulate", "-y", *packages)
        found = re.findall(r"^Inst (\S+) \((\S+) ", text, re.MULTILINE)
        return {name.partition(":")[0]: version for name, version in found}

    def download(self, packages: dict[str, str], into: Path) -> list[Path]:
        """Download packages of exact versions into a folder; return their files. Raises `UserError`."""
        into.mkdir()
        self._run("apt-get", "download", *(f"{name}={version}" for name, version in packages.items()), folder=into)
        files = sorted(into.glob("*.deb"))
        assert len(files) == len(packages), files
        return files

    def source(self, name: str, upstream: str, into: Path) -> Path:
        """Download the source of an upstream version of a package; return the authors' archive. Raises `UserError`."""
        text = self._run("apt-cache", "showsrc", "--only-source", name)
        versions = re.findall(r"^Version: (\S+)$", text, re.MULTILINE)
        # A Debian version is EPOCH:UPSTREAM-REVISION, mostly without an epoch.
        found = [version for version in versions if version.rpartition("-")[0].rpartition(":")[2] == upstream]
        if not found:
            raise UserError(f"{self._mirror}: has {name} {', '.join(versions)}, expected {upstream}")
        into.mkdir()
        self._run("apt-get", "source", "--download-only", f"{name}={found[0]}", folder=into)
        return next(into.glob(f"{name}_{upstream}.orig.tar.*[!c]"))

    def _run(self, program: str, *arguments: str, folder: Path | None = None) -> str:
        if shutil.which(program) is None:
            raise UserError(f"guest fetch: found no {program} on the PATH, expected a host with apt: Debian or Ubuntu")
        line = [program, "-q", "-c", str(self._configuration), *arguments]
        proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **proxies}
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd=folder or self._root,
            env=environment,
        )
        if done.returncode:
            raise UserError(self._complaint(arguments[0], done.stdout + done.stderr))
        return done.stdout

    def _complaint(self, command: str, text: str) -> str:
        """Return one line for what apt printed; its first error names the cause, later ones the consequences."""
        lines = text.strip().splitlines() or ["it printed no message"]
        first = next((line[3:] for line in lines if line.startswith("E: ")), lines[-1])
        if _DISK.search(text):
            return f"{self._root.parents[1]}: the disk is full: {first}"
        missing = re.search(r"Unable to locate package (\S+)|Release '([^']+)' for '[^']+' was not found", text)
        if missing:
            return f"{self._mirror}: has no package {missing[1] or first}"
        if command == "update" and _NETWORK.search(text):
            return f"{self._mirror}: cannot be read: {first}; check the network, or give another --mirror"
        return f"apt-get {command}: {first}"


# Packages of QEMU come from backports, and nothing else that another release has, too.
_PREFERENCES = """\
Package: *
Pin: release n=bookworm
Pin-Priority: 50

Package: *
Pin: release n=trixie-backports
Pin-Priority: 100

Package: qemu* seabios ipxe-qemu
Pin: release n=trixie-backports
Pin-Priority: 990
"""
# The host's proxies and other settings of downloads hold here, too; its hooks and preferences do not.
_CONFIGURATION = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Default-Release;
#clear APT::Architectures;
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Acquire::AllowInsecureRepositories "false";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Dir::State "ROOT/state";
Dir::State::status "ROOT/state/status";
Dir::State::extended_states "ROOT/state/extended";
Dir::Cache "ROOT/cache";
Dir::Log "ROOT";
Dir::Etc::sourcelist "ROOT/etc/sources.list";
Dir::Etc::sourceparts "ROOT/etc/none";
Dir::Etc::preferences "ROOT/etc/preferences";
Dir::Etc::preferencesparts "ROOT/etc/none";
"""
