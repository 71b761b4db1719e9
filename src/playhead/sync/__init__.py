"""The same names without `await`: blocking twins, served by one event loop in a thread of its own.

The loop starts with the first call and serves them all, from whichever thread they come, also from one that runs an
event loop itself. It ends with the process; a forked child starts its own.
"""

from playhead.sync.calls import compile, copy_store, copy_tape, diff, export_store, gc_blobs, import_file, import_store, open_tape, unused_blobs
from playhead.sync.manager import ContextManager
from playhead.sync.portal import wait
from playhead.sync.query import TapeQuery
from playhead.sync.tape import Branch, Tape

__all__ = [
    "Branch",
    "ContextManager",
    "Tape",
    "TapeQuery",
    "compile",
    "copy_store",
    "copy_tape",
    "diff",
    "export_store",
    "gc_blobs",
    "import_file",
    "import_store",
    "open_tape",
    "unused_blobs",
    "wait",
]
