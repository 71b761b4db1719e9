"""Whatever was done to a family, its stores prove sound, copies of them too, and what is salvaged from a damaged one is sound again."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule

from playhead.errors import StoreError
from playhead.store.upkeep import backup, salvage, verify
from tests.property.test_family_machine import SOAK, FamilyMachine

PAGE = 4096


class UpkeepMachine(FamilyMachine):
    """Does anything to a family, then looks at what the stores have written: a file, or a folder of files."""

    kinds = staticmethod(lambda: ["sqlite", "file"])

    @rule()
    def prove(self):
        for place in self.written():
            report = verify(place)
            assert report.is_sound, str(report)

    def teardown(self):
        if hasattr(self, "stores") and not self.differs:
            for place in self.written():
                report = verify(place)
                assert report.is_sound, str(report)
                copied = backup(place, place.with_name(f"copy-{place.name}"))
                copy = verify(copied)
                assert (copy.is_sound, copy.entries) == (True, report.entries), str(copy)
                self.damage(copied)
                try:
                    saved = salvage(copied)
                except StoreError as error:
                    assert "Nothing that playhead wrote" in str(error)
                    continue
                again = verify(saved.path)
                assert again.is_sound, f"{again}\n{saved}"
        super().teardown()

    def written(self) -> list[Path]:
        return [path for path in (self.place / "tapes.db", self.place / "tapes") if path.exists()]

    def damage(self, place: Path) -> None:
        """Destroy a page of a database, or a few bytes of one file of a directory."""
        dice = random.Random(len(self.model.rows))
        paths = [place] if place.is_file() else sorted(place.rglob("*.jsonl"))
        if not paths:
            return
        path = dice.choice(paths)
        raw = bytearray(path.read_bytes())
        if place.is_file():
            page = dice.randrange(len(raw) // PAGE) * PAGE
            raw[page : page + PAGE] = bytes(PAGE)
        elif raw:
            start = dice.randrange(len(raw))
            end = min(len(raw), start + dice.choice((1, 40, 400)))
            raw[start:end] = dice.randbytes(end - start)
        path.write_bytes(raw)


TestUpkeepMachine = UpkeepMachine.TestCase
TestUpkeepMachine.settings = settings(max_examples=1500 if SOAK else 15, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
