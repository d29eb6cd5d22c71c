"""What depends on the operating system, and nothing else does: the machine's name, its files and its processes."""

import contextlib
import hashlib
import os
import socket
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import psutil

_MOST_FILES = 65_536


def host_name() -> str:
    """This machine's name, as sessions carry it."""
    return socket.gethostname()


def raise_file_limit() -> int:
    """Lets this process have as many files and sockets open as the system allows; how many that is."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft


_OF_PROCESSES = ("/proc/", "/dev/fd/", "/dev/std")
"""Links that stand here lead to what processes have open."""


class LocalFiles:
    """The file system of this machine, for the path resolver."""

    def real_path(self, path: str) -> str:
        """Follows no link that tells what a process does: such a path is taken by its text."""
        found = "/"
        for name in path.split("/"):
            found = os.path.normpath(os.path.join(found, name))
            if os.path.islink(found) and not f"{found}/".startswith(_OF_PROCESSES):
                found = os.path.realpath(found)
        return found

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)  # Path.is_dir() raises for a name too long or a folder closed to us

    def folds_case(self, path: str) -> bool:
        """Asked of the nearest folder that is there: does its name in the other letter case name it too?"""
        there = Path(path)
        while not os.path.lexists(there) or there.name.swapcase() == there.name:
            if there == there.parent:
                return False
            there = there.parent
        other = there.with_name(there.name.swapcase())
        return os.path.lexists(other) and other.samefile(there)


LARGEST_FILE = 2**30
PIECE = 2**19
"""Bytes that are hashed at a time: about a millisecond."""


class NotAFile(Exception):
    """What stands at the path has no content to hash; the message says why."""


def sha256_of(path: str) -> str | None:
    """SHA-256 of the file in hex; None when nothing is there. Never follows into devices or pipes.

    Raises NotAFile for anything but a regular file, OSError when it can't be read.
    """
    digest, size = hashlib.sha256(), 0
    try:
        with _regular_file(path) as file:
            announced = os.fstat(file.fileno()).st_size
            while chunk := file.read(PIECE):
                digest.update(chunk)
                size += len(chunk)
                time.sleep(0)  # under gevent the other requests have their turn
                if max(size, announced) > LARGEST_FILE:  # a file of the system may have no end
                    raise NotAFile(f"is larger than {LARGEST_FILE:,} bytes, too much to compare")
    except (FileNotFoundError, NotADirectoryError):
        return None
    return digest.hexdigest()


def beginning_of(path: str, most: int) -> str:
    """The first `most` bytes of the file as text. Raises NotAFile for anything but a regular file, or OSError."""
    with _regular_file(path) as file:
        return file.read(most).decode(errors="replace")


@contextlib.contextmanager
def _regular_file(path: str) -> Iterator[FileIO]:
    """The file, opened without a wait for who would write into a pipe. Raises NotAFile or OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with FileIO(descriptor) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotAFile("is no regular file, so it has no content to compare")
        yield file


class ProcessScan(NamedTuple):
    """One look at every process of this machine."""

    keys: dict[str, int]
    """Each text that was looked for and stands in an environment → the pid of a process that has it."""
    started_at: dict[int, int]
    """Each pid → when it started, in milliseconds."""
    unreadable: frozenset[int]
    """Processes of our own user whose environment could not be read: on any system a few hide it."""
    is_blind: bool
    """No environment but our own could be read, though there were others."""


def scan_processes(wanted: Iterable[str], carries: Callable[[Mapping[str, str], str], bool]) -> ProcessScan:
    """Looks for the wanted texts in the environments of processes; others' can't be read and don't count.

    `carries`: whether an environment that has the text in some variable counts as one that has it.
    """
    looked_for = set(wanted)
    keys: dict[str, int] = {}
    started_at: dict[int, int] = {}
    unreadable: set[int] = set()
    read: set[int] = set()
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                if process.status() == psutil.STATUS_ZOMBIE:  # it has ended, and its parent has not asked how
                    continue
                started_at[process.pid] = _started_at(process)
            if looked_for and process.uids().real == os.getuid():
                environment = process.environ()
                if environment:  # a kernel thread has none
                    read.add(process.pid)
                for key in looked_for.intersection(environment.values()):
                    if carries(environment, key):
                        keys.setdefault(key, process.pid)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            started_at.pop(process.pid, None)
        except (psutil.AccessDenied, OSError):
            unreadable.add(process.pid)
    is_blind = bool(unreadable) and not read - {os.getpid()}
    return ProcessScan(keys, started_at, frozenset(unreadable), is_blind)


def exit_descriptor(pid: int) -> int | None:
    """A descriptor that can be read as soon as the process has ended; None where there is none such.

    Raises ProcessLookupError when no such process runs. Source: pidfd_open(2).
    """
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):  # not Linux; too many files
        return None


def process_started_at(pid: int) -> int | None:
    """When the process started, in milliseconds; None when it does not run."""
    try:
        return _started_at(psutil.Process(pid))
    except (psutil.Error, OSError, ValueError, OverflowError):
        return None


def _started_at(process: psutil.Process) -> int:
    return round(process.create_time() * 1_000)
