"""A disk under SQLite that writes down every write and flush, so that a loss of power can be played at any moment.

SQLite reaches the system through a table of functions (https://sqlite.org/vfs.html); a few of them are replaced in this process.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p


class Methods(Structure):
    """The first version of `sqlite3_io_methods`, and what later ones add, which is passed on as it is."""

    _fields_ = [
        ("version", c_int),
        ("close", CFUNCTYPE(c_int, c_void_p)),
        ("read", c_void_p),
        ("write", CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)),
        ("truncate", CFUNCTYPE(c_int, c_void_p, c_int64)),
        ("sync", CFUNCTYPE(c_int, c_void_p, c_int)),
        ("rest", c_void_p * 13),
    ]


class File(Structure):
    """`sqlite3_file`."""

    _fields_ = [("methods", POINTER(Methods))]


# A path is passed on as the address it came with: SQLite goes on using the text that stands there.
Open = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(File), c_int, POINTER(c_int))
Delete = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)


class Vfs(Structure):
    """`sqlite3_vfs`, as far as it is looked at."""

    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("app_data", c_void_p),
        ("open", Open),
        ("delete", Delete),
    ]


def is_within_reach() -> bool:
    """Return whether SQLite's functions can be called past Python's own module."""
    return hasattr(_sqlite3, "__file__") and hasattr(ctypes.CDLL(_sqlite3.__file__), "sqlite3_vfs_find")


class Recorder:
    """Writes down what SQLite does to files in this process, in the form that `tests.crash.power.Aftermath` reads."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        self._numbers: dict[int, int] = {}
        self._paths: dict[int, str] = {}
        self._by_path: dict[str, int] = {}
        self._kept: list[object] = []
        library = ctypes.CDLL(_sqlite3.__file__)
        find = library.sqlite3_vfs_find
        find.restype, find.argtypes = POINTER(Vfs), [c_char_p]
        self._vfs = find(None).contents
        self._open, self._delete = self._vfs.open, self._vfs.delete
        self._originals = Open(ctypes.cast(self._open, c_void_p).value), Delete(ctypes.cast(self._delete, c_void_p).value)
        self._vfs.open, self._vfs.delete = self._keep(Open(self._on_open)), self._keep(Delete(self._on_delete))

    def note(self, *event: object) -> None:
        """Write down something of the test's own."""
        self.events.append(event)

    def _keep(self, function):
        self._kept.append(function)
        return function

    def _on_open(self, vfs, path, file, flags, out):
        code = self._originals[0](vfs, path, file, flags, out)
        if code == 0 and path:
            self._watch(_text(path), file)
        return code

    def _watch(self, path, file):
        if path not in self._by_path:
            self._by_path[path] = len(self._by_path) + 1
            self.note("name", path, self._by_path[path])
        place = ctypes.cast(file, c_void_p).value
        self._numbers[place], self._paths[place] = self._by_path[path], path
        original = file.contents.methods.contents
        ours = self._keep(Methods.from_buffer_copy(original))
        write, truncate, sync = (type(field)(ctypes.cast(field, c_void_p).value) for field in (original.write, original.truncate, original.sync))
        self._kept += [original, write, truncate, sync]

        def on_write(file, content, size, offset):
            self.note("change", self._numbers[file], offset, ctypes.string_at(content, size))
            return write(file, content, size, offset)

        def on_truncate(file, size):
            self.note("change", self._numbers[file], size, None)
            return truncate(file, size)

        def on_sync(file, flags):
            self.note("flush", self._numbers[file])
            self.note("flush directory", os.path.dirname(self._paths[file]))
            return sync(file, flags)

        ours.write = self._keep(type(original.write)(on_write))
        ours.truncate = self._keep(type(original.truncate)(on_truncate))
        ours.sync = self._keep(type(original.sync)(on_sync))
        file.contents.methods = ctypes.pointer(ours)

    def _on_delete(self, vfs, path, sync):
        code = self._originals[1](vfs, path, sync)
        text = _text(path)
        if code == 0 and self._by_path.pop(text, None) is not None:
            self.note("name", text, None)
        return code


def _text(address):
    return os.fsdecode(ctypes.string_at(address))
