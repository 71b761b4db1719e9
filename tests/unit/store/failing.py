"""A user's store that fails when it is told to, and a look at what stands in one."""

from playhead.store.adapt import adapt
from playhead.testing.stores import AsyncListStore


def told(raw, tape):
    return [entry.payload["text"] for entry in raw.tapes.get(tape, [])]


class Fails(AsyncListStore):
    """Fails at one write, counted from 0, before or behind it, and works again from then on."""

    def __init__(self, kept, *, at, behind):
        super().__init__()
        self.kept = kept
        self.left = at
        self.behind = behind

    async def append(self, tape, entry):
        return self._write(self.kept.append, tape, entry)

    async def reset(self, tape):
        return self._write(self.kept.reset, tape)

    def _write(self, method, *args):
        self.left -= 1
        if self.left == -1 and not self.behind:
            raise OSError("no space left")
        result = method(*args)
        if self.left == -1:
            raise OSError("no space left")
        return result


def opened(raw):
    return adapt(Fails(raw, at=1_000_000, behind=False))
