"""A minimal kernel that executes calls on byte arrays, prints strace's output, and records the actual effects."""

from __future__ import annotations

from dataclasses import dataclass, field

FOLDER = "/nowhere/at all"
"""A path that does not exist on the test machine."""
OLD_LOG = f"{FOLDER}/old.log"
"""A file that existed before the program started and is only appended to."""
OLD_LOG_BYTES = 5000
BLOCK = 4096


@dataclass(eq=False)
class Inode:
    """A file: for each byte whether it was written, and the data written since it was freed."""

    number: int
    written: bytearray = field(default_factory=bytearray)
    names: set[str] = field(default_factory=set)
    opened: int = 0

    @property
    def size(self) -> int:
        return len(self.written)

    def resize(self, size: int) -> None:
        del self.written[size:]
        self.written.extend(bytes(size - len(self.written)))

    def blocks(self) -> set[int]:
        """The blocks that hold data."""
        return {at // BLOCK for at, byte in enumerate(self.written) if byte}


@dataclass(eq=False)
class Open:
    inode: Inode
    path: str
    offset: int = 0
    append: bool = False
    sync: str | None = None


@dataclass(frozen=True)
class Expected:
    """A record that the trace must have."""

    at_us: int
    action: str
    inode: int
    offset: int = 0
    length: int = 0


@dataclass
class Pending:
    """A call that has begun."""

    name: str
    at_us: int
    shown: str
    description: Open | None
    offset: int | None
    length: int


class Kernel:
    """Runs calls and keeps the log."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.expected: list[Expected] = []
        self.paths: dict[str, Inode] = {}
        self.inodes: list[Inode] = []
        self.tables: dict[int, dict[int, Open]] = {100: {}}
        self.pending: dict[int, Pending] = {}
        self._now = 1_700_000_000_000_000
        self._next_pid = 101
        self.forks: list[tuple[int, int]] = []
        old = Inode(0, bytearray(OLD_LOG_BYTES), {OLD_LOG})
        self.inodes.append(old)
        self.paths[OLD_LOG] = old
        self._line(100, 'execve("/bin/program", [...], 0x7ffe /* 9 vars */) = 0')

    # -- printing

    def _tick(self) -> int:
        self._now += 7
        return self._now

    def _line(self, pid: int, body: str) -> int:
        at = self._tick()
        self.log.append(f"{pid}  {at // 1_000_000}.{at % 1_000_000:06d} {body}\n")
        return at

    def shown(self, table: dict[int, Open], fd: int) -> str:
        """``3</path>``, as strace would print it now."""
        description = table[fd]
        names = description.inode.names
        path = description.path if description.path in names or not names else min(names)
        deleted = "" if names else "(deleted)"
        return f"{fd}<{escape(path)}>{deleted}"

    # -- the calls

    def being_written(self, inode: Inode | None) -> bool:
        """Whether a write is outstanding, whose order relative to a concurrent truncation is undefined."""
        under_way = (call.description for call in self.pending.values() if "write" in call.name)
        return any(description is not None and description.inode is inode for description in under_way)

    def idle(self) -> list[int]:
        return [pid for pid in self.tables if pid not in self.pending]

    def open(self, pid: int, path: str, flags: list[str]) -> None:
        table = self.tables[pid]
        fd = next(number for number in range(3, 1000) if number not in table)
        known = self.paths.get(path)
        if "O_TRUNC" in flags and self.being_written(known):
            return
        call = f'openat(AT_FDCWD<{FOLDER}>, "{escape(path)}", {"|".join(flags)}, 0644) ='
        if known is not None and "O_EXCL" in flags:
            self._line(pid, f"{call} -1 EEXIST (File exists)")
            return
        if known is None and "O_CREAT" not in flags:
            self._line(pid, f"{call} -1 ENOENT (No such file or directory)")
            return
        if known is None:
            known = Inode(len(self.inodes), names={path})
            self.inodes.append(known)
            self.paths[path] = known
        if "O_TRUNC" in flags:
            known.resize(0)
        known.opened += 1
        sync = "sync" if "O_SYNC" in flags else "datasync" if "O_DSYNC" in flags else None
        table[fd] = Open(known, path, append="O_APPEND" in flags, sync=sync)
        self._line(pid, f"{call} {fd}<{escape(path)}>")

    def begin(self, pid: int, fd: int, name: str, offset: int | None, length: int) -> None:
        """Begin a read, a write or a sync; `offset` None: at the current one."""
        table = self.tables[pid]
        shown = self.shown(table, fd)
        at = self._line(pid, f"{name}({shown},  <unfinished ...>")
        self.pending[pid] = Pending(name, at, shown, table[fd], offset, length)

    def begin_close(self, pid: int, fd: int) -> None:
        """Begin to close a descriptor, whose number is free from now on."""
        table = self.tables[pid]
        at = self._line(pid, f"close({self.shown(table, fd)} <unfinished ...>")
        self._drop(table, fd)
        self.pending[pid] = Pending("close", at, "", None, None, 0)

    def end(self, pid: int, outcome: int) -> None:
        """Complete the call; `outcome` selects full success, partial success, or failure."""
        call = self.pending.pop(pid)
        if call.name == "close":
            self._line(pid, "<... close resumed>) = 0")
            return
        result, rest = self._effect(call, outcome)
        self._line(pid, f"<... {call.name} resumed>{rest}) = {result}")
        assert call.description is not None
        self._forget_if_closed(call.description)

    def whole(self, pid: int, fd: int, name: str, offset: int | None, length: int, outcome: int) -> None:
        """A call in one line."""
        table = self.tables[pid]
        shown = self.shown(table, fd)
        call = Pending(name, self._now + 7, shown, table[fd], offset, length)
        result, rest = self._effect(call, outcome)
        separator = ", " if rest else ""
        self._line(pid, f"{name}({shown}{separator}{rest}) = {result}")

    def _effect(self, call: Pending, outcome: int) -> tuple[str, str]:
        description = call.description
        assert description is not None
        inode = description.inode
        if call.name in ("fsync", "fdatasync"):
            if outcome == 0:
                return "-1 EIO (Input/output error)", ""
            action = "sync" if call.name == "fsync" else "datasync"
            self.expected.append(Expected(call.at_us, action, inode.number))
            return "0", ""
        at = "" if call.offset is None else f", {call.offset}"
        rest = f'""..., {call.length}{at}'
        if outcome == 0:
            return "-1 EINTR (Interrupted system call)", rest
        start = description.offset if call.offset is None else call.offset
        length = call.length if outcome > 1 else call.length // 2
        if "read" in call.name:
            length = max(0, min(length, inode.size - start))
            if length:
                self.expected.append(Expected(call.at_us, "read", inode.number, start, length))
        else:
            if description.append:
                start = inode.size
            if length:
                inode.resize(max(inode.size, start + length))
                inode.written[start : start + length] = b"\1" * length
                self.expected.append(Expected(call.at_us, "write", inode.number, start, length))
                if description.sync:
                    self.expected.append(Expected(call.at_us, description.sync, inode.number))
        if call.offset is None and length:
            description.offset = start + length
        return str(length), rest

    def seek(self, pid: int, fd: int, distance: int, whence: int) -> None:
        description = self.tables[pid][fd]
        base = (0, description.offset, description.inode.size)[whence]
        word = ("SEEK_SET", "SEEK_CUR", "SEEK_END")[whence]
        shown = self.shown(self.tables[pid], fd)
        target = base + distance
        if target < 0:
            self._line(pid, f"lseek({shown}, {distance}, {word}) = -1 EINVAL (Invalid argument)")
            return
        description.offset = target
        self._line(pid, f"lseek({shown}, {distance}, {word}) = {target}")

    def truncate(self, pid: int, fd: int, size: int) -> None:
        if self.being_written(self.tables[pid][fd].inode):
            return
        self._line(pid, f"ftruncate({self.shown(self.tables[pid], fd)}, {size}) = 0")
        self.tables[pid][fd].inode.resize(size)

    def punch(self, pid: int, fd: int, offset: int, length: int) -> None:
        if self.being_written(self.tables[pid][fd].inode):
            return
        mode = "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE"
        self._line(pid, f"fallocate({self.shown(self.tables[pid], fd)}, {mode}, {offset}, {length}) = 0")
        written = self.tables[pid][fd].inode.written
        end = min(offset + length, len(written))
        if end > offset:
            written[offset:end] = bytes(end - offset)

    def stat(self, pid: int, fd: int) -> None:
        size = self.tables[pid][fd].inode.size
        shown = self.shown(self.tables[pid], fd)
        self._line(pid, f'newfstatat({shown}, "", {{st_mode=S_IFREG|0644, st_size={size}, ...}}, AT_EMPTY_PATH) = 0')

    def duplicate(self, pid: int, fd: int, target: int) -> None:
        table = self.tables[pid]
        shown = self.shown(table, fd)
        self._line(pid, f"dup2({shown}, {target}) = {target}<{shown.partition('<')[2]}")
        if target != fd:
            self._drop(table, target)
            table[target] = table[fd]

    def close(self, pid: int, fd: int) -> None:
        self._line(pid, f"close({self.shown(self.tables[pid], fd)}) = 0")
        self._drop(self.tables[pid], fd)

    def _drop(self, table: dict[int, Open], fd: int) -> None:
        description = table.pop(fd, None)
        if description is not None:
            self._forget_if_closed(description)

    def _forget_if_closed(self, description: Open) -> None:
        held = [other for each in self.tables.values() for other in each.values()]
        held += [call.description for call in self.pending.values() if call.description is not None]
        if description not in held:
            description.inode.opened -= 1

    def unlink(self, pid: int, path: str) -> None:
        inode = self.paths.pop(path, None)
        if inode is None:
            self._line(pid, f'unlink("{escape(path)}") = -1 ENOENT (No such file or directory)')
            return
        inode.names.discard(path)
        self._line(pid, f'unlink("{escape(path)}") = 0')

    def rename(self, pid: int, old: str, new: str) -> None:
        inode = self.paths.get(old)
        if inode is None:
            self._line(pid, f'rename("{escape(old)}", "{escape(new)}") = -1 ENOENT (No such file or directory)')
            return
        self._line(pid, f'rename("{escape(old)}", "{escape(new)}") = 0')
        target = self.paths.get(new)
        if target is inode:
            return
        if target is not None:
            target.names.discard(new)
        del self.paths[old]
        self.paths[new] = inode
        inode.names = {new if name == old else name for name in inode.names}

    def link(self, pid: int, old: str, new: str) -> None:
        if old not in self.paths or new in self.paths:
            return
        self._line(pid, f'link("{escape(old)}", "{escape(new)}") = 0')
        self.paths[new] = self.paths[old]
        self.paths[new].names.add(new)

    def fork(self, pid: int, *, shared: bool, early: bool) -> None:
        """Start a child; `early`: it appears in the log before the call that started it has returned."""
        child = self._next_pid
        self._next_pid += 1
        words = "CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD" if shared else "CLONE_CHILD_SETTID|SIGCHLD"
        call = f"clone(child_stack=NULL, flags={words}"
        table = self.tables[pid]
        self.tables[child] = table if shared else dict(table)
        if early:
            self._line(pid, f"{call} <unfinished ...>")
            for fd in table:
                self.whole(child, fd, "pread64", 0, 10, 2)
            self._line(pid, f"<... clone resumed>, child_tidptr=0x7f) = {child}")
        else:
            self._line(pid, f"{call}, child_tidptr=0x7f) = {child}")

    def exit(self, pid: int) -> None:
        if len(self.tables) == 1:
            return
        table = self.tables.pop(pid)
        if not any(other is table for other in self.tables.values()):
            for fd in list(table):
                self._drop(table, fd)
        self._line(pid, "+++ exited with 0 +++")

    def finish(self) -> None:
        """Complete all outstanding calls; then query the size of the old log."""
        for pid in list(self.pending):
            self.end(pid, 2)
        pid = next(iter(self.tables))
        before = set(self.tables[pid])
        self.open(pid, OLD_LOG, ["O_RDONLY"])
        self.stat(pid, min(set(self.tables[pid]) - before))


def escape(path: str) -> str:
    """Format a path like strace."""
    return "".join(
        character if 32 <= byte < 127 and character not in '<>"\\' else f"\\{byte:03o}"
        for byte, character in ((byte, chr(byte)) for byte in path.encode())
    )
