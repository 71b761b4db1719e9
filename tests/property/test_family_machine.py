"""Any sequence of appends, forks, merges, closings, collections, resets and renamings leaves every store where a small model is."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from playhead.entry.entry import TapeEntry
from playhead.errors import LeaseHeld, PlayheadError
from playhead.store.change import DISCARDED, MERGED, OPEN, SQUASHED, Append, Close, Fork, Reset
from playhead.store.family import branch_name, kin_of, sidecar_name
from playhead.store.protocol import Head
from playhead.store.query import TapeQuery
from tests.property.family_model import Model
from tests.property.test_store_queries import entries as facts
from tests.property.test_store_queries import queries
from tests.stores import kept, opened, place

SOAK = bool(os.environ.get("PLAYHEAD_SOAK"))
LABELS = "uvwxyz"
FAR = datetime(9000, 1, 1, tzinfo=UTC)

numbers = st.integers(0, 63)
keyed = st.builds(lambda text, key: TapeEntry(0, "note", {"text": text}, {"uid": f"{key} says {text}", "idempotency_key": key}, "2026-03-01"), st.sampled_from("xy"), st.sampled_from("klm"))
batches = st.lists(facts() | keyed, min_size=1, max_size=4)
handles = st.integers(0, 1)
places = st.tuples(numbers, st.sampled_from([None, None, None, "s", "q"]))
changes = st.one_of(
    st.tuples(st.just(Append), places, batches, st.integers(-4, 1)),
    st.tuples(st.just(Reset), places, st.just([]) | batches, st.integers(-4, 1)),
    st.tuples(st.just(Fork), places, st.sampled_from(LABELS), st.none() | numbers),
    st.tuples(st.just(Close), places, st.sampled_from([MERGED, DISCARDED]), st.integers(-4, 1)),
)


class FamilyMachine(RuleBasedStateMachine):
    """Does the same in every store that ships, in all but memory through two handles each, and in the model."""

    kinds = staticmethod(kept)

    @initialize()
    def start(self):
        self.place_context = place(self.kinds())
        self.place = self.place_context.__enter__()
        self.portal_context = start_blocking_portal()
        self.portal = self.portal_context.__enter__()
        self.model = Model()
        self.roots = ["a", "b"]
        self.differs = False
        memory = opened("memory", self.place)
        self.stores = {"memory": [memory, memory]} | {kind: [self.opened(kind) for _ in range(2)] for kind in self.kinds()}

    def opened(self, kind):
        return opened(kind, self.place, durability="process")

    def teardown(self):
        if hasattr(self, "stores"):
            try:
                for handle in (0, 1) if not self.differs else ():
                    self.look_at_everything(handle=handle)
            finally:
                for pair in self.stores.values():
                    for store in pair:
                        self.portal.call(store.aclose)
                self.portal_context.__exit__(None, None, None)
                self.place_context.__exit__(None, None, None)

    def ask(self, handle, call, wanted):
        """Let each store do something, and compare what comes of it with what the model says should."""

        async def asked():
            found = {}
            for name, pair in self.stores.items():
                try:
                    found[name] = await call(pair[handle])
                except PlayheadError as error:
                    found[name] = type(error)
            return found

        try:
            expected = wanted()
        except PlayheadError as error:
            expected = type(error)
        for name, found in self.portal.call(asked).items():
            self.differs = not agree(found, expected)
            assert not self.differs, f"{name}: {found}, wanted {expected}"

    def mains(self):
        return [*self.roots, *self.model.branches]

    def tape_at(self, where):
        """Return a tape, branch or sidecar, now and then of a branch that was never made."""
        number, side = where
        mains = [*self.mains(), branch_name("a", "unknown")] if number == 63 else self.mains()
        main = mains[number % len(mains)]
        return main if side is None else sidecar_name(main, side)

    def near(self, tape, turn):
        """Return None, or a head that is right (0) or one off."""
        if turn < -1:
            return None
        rows = self.model.rows.get(tape)
        return Head(rows.generation, rows.head.id + turn) if rows else Head(0, turn)

    def apply(self, handle, work, unless=None):
        self.ask(handle, lambda store: store.apply(work, unless=unless), lambda: self.model.apply(work, unless=unless))

    def change(self, kind, where, what, more):
        tape = self.tape_at(where)
        if kind is Fork:
            parent = kin_of(tape).main
            rows = self.model.rows.get(parent)
            length = len(rows.entries) if rows else 0
            return Fork(tape=branch_name(parent, what), parent=parent, at=None if more is None else more % (length + 2), owner=what)
        if kind is Close:
            branches = [*self.model.branches, branch_name("a", "unknown")]
            tape = branches[where[0] % len(branches)]
            return Close(tape=tape, outcome=what, expected_head=self.near(tape, more))
        return kind(tape=tape, entries=what, expected_head=self.near(tape, more))

    @rule(handle=handles, where=places, batch=batches, turn=st.integers(-4, 1))
    def append(self, handle, where, batch, turn):
        tape, head = self.tape_at(where), None
        head = self.near(tape, turn)
        self.ask(handle, lambda store: store.append_many(tape, batch, expected_head=head), lambda: self.model.append(tape, batch, expected_head=head))

    @rule(handle=handles, where=places, entry=facts(), count=st.integers(60, 70))
    def fill(self, handle, where, entry, count):
        tape = self.tape_at(where)
        batch = [TapeEntry(0, entry.kind, entry.payload, {"uid": f"{entry.uid} {number}"}, entry.date) for number in range(count)]
        self.ask(handle, lambda store: store.append_many(tape, batch), lambda: self.model.append(tape, batch))

    @rule(handle=handles, where=places, label=st.sampled_from(LABELS), at=st.none() | numbers)
    def fork(self, handle, where, label, at):
        self.apply(handle, [self.change(Fork, where, label, at)])

    @rule(handle=handles, where=places, batch=st.just([]) | batches, turn=st.integers(-9, 1))
    def reset(self, handle, where, batch, turn):
        tape, head = self.tape_at(where), None
        head = self.near(tape, turn)
        self.ask(handle, lambda store: store.reset(tape, entries=batch, expected_head=head), lambda: self.model.apply([Reset(tape=tape, entries=batch, expected_head=head)])[0])

    @rule(handle=handles, drawn=st.lists(changes, min_size=2, max_size=5))
    def apply_some(self, handle, drawn):
        work = [self.change(*change) for change in drawn]
        root = kin_of(work[0].tape).root
        self.apply(handle, [change for change in work if kin_of(change.tape).root == root])

    @rule(handle=handles, number=numbers, policy=st.sampled_from(["append", "fast-forward", "squash", "replace"]), again=st.booleans())
    def merge(self, handle, number, policy, again):
        """Bring a branch home as the tape's handle would: what it holds of its own with its sidecars, the `merge` entry last, then its end."""
        if not self.model.branches:
            return
        branch = list(self.model.branches)[number % len(self.model.branches)]
        parent, base, *_ = self.model.branches[branch]
        rows = self.model.rows[branch]
        own = rows.entries[base.id if rows.generation == base.generation else 0 :]
        merged = TapeEntry(0, "merge", {"of": branch}, {"uid": f"merge of {branch}", "idempotency_key": branch}, "2026-03-01")
        head = base if policy == "fast-forward" else None
        home = Reset(tape=parent, entries=[*rows.entries, merged]) if policy == "replace" else Append(tape=parent, entries=[merged] if policy == "squash" else [*own, merged], expected_head=head)
        beside = [] if policy in ("squash", "replace") else [self.side_home(branch, parent, base, name) for name in self.model.sidecars(branch)]
        work = [home, *beside, Close(tape=branch, outcome=SQUASHED if policy == "squash" else MERGED, expected_head=rows.head)]
        for _ in range(2 if again else 1):
            self.apply(handle, work, unless=(parent, branch))

    def side_home(self, branch, parent, base, name):
        rows = self.model.rows[sidecar_name(branch, name)]
        _, cut = self.model.sides.get(sidecar_name(branch, name), ("", Head(0, 0)))
        first = cut.id if rows.generation == cut.generation else 0
        marks = [max(0, mark.id - base.id) if mark.generation == base.generation else 0 for mark in rows.marks[first:]]
        return Append(tape=sidecar_name(parent, name), entries=rows.entries[first:], marks=sorted(marks))

    @rule(handle=handles, number=numbers, outcome=st.sampled_from([DISCARDED, MERGED]))
    def close(self, handle, number, outcome):
        if self.model.branches:
            self.apply(handle, [self.change(Close, (number, None), outcome, -2)])

    @rule(handle=handles, number=numbers)
    def collect(self, handle, number):
        root = self.roots[number % 2]

        async def collected(store):
            return sorted(await store.collect(root, before=FAR))

        self.ask(handle, collected, lambda: self.model.collect(root))

    @rule(handle=handles, number=numbers)
    def rename(self, handle, number):
        old = self.mains()[number % len(self.mains())]
        if old not in self.model.rows and not any(kin_of(name).root == old for name in self.model.rows):
            return
        new = f"{old}'"
        self.ask(handle, lambda store: store.rename(old, new), lambda: self.model.rename(old, new))
        self.roots = [new if root == old else root for root in self.roots]

    @rule(handle=handles, number=numbers, batch=st.lists(facts(), min_size=1, max_size=4), held=st.booleans(), behind=st.integers(0, 1))
    def lease_and_append(self, handle, number, batch, held, behind):
        tape = self.mains()[number % len(self.mains())]
        if self.model.branches.get(tape, (None, None, OPEN))[2] != OPEN:
            return

        async def leased(store):
            lease = await store.lease(tape, owner="one", seconds=1_000)
            if held:
                try:
                    await store.lease(tape, owner="other", seconds=1_000)
                except LeaseHeld:
                    await store.release(lease)
                    return lease.epoch
            await store.release(lease)
            return lease.epoch

        self.model.epochs[tape] = epoch = self.model.epochs.get(tape, 0) + 1
        self.ask(handle, leased, lambda: epoch)
        fence = epoch - behind
        self.ask(1 - handle, lambda store: store.append_many(tape, batch, fence=fence), lambda: self.model.append(tape, batch, fence=fence))

    @rule(handle=handles, where=places, upto=numbers)
    def archive(self, handle, where, upto):
        tape = self.tape_at(where)
        self.ask(handle, lambda store: archived(store, tape, upto * 3), lambda: bool(self.model.shown(tape)))

    @rule(handle=handles, where=places, asked=st.lists(queries, min_size=1, max_size=6))
    def query(self, handle, where, asked):
        tape = self.tape_at(where)
        for query in (TapeQuery(tape=tape, **{name: getattr(each, name) for name in each.__dataclass_fields__ if name not in ("tape", "store")}) for each in asked):
            self.ask(handle, lambda store, query=query: listed(store, query), lambda query=query: query.apply(self.model.shown(tape).entries))
            self.ask(handle, lambda store, query=query: store.count(query), lambda query=query: len(query.apply(self.model.shown(tape).entries)))

    @rule(handle=handles, where=places, picks=st.lists(numbers, min_size=1, max_size=3))
    def find(self, handle, where, picks):
        tape = self.tape_at(where)
        everywhere = [entry for rows in self.model.rows.values() for entry in rows.entries if "idempotency_key" not in entry.meta]
        uids = [everywhere[pick * 7 % len(everywhere)].uid for pick in picks if everywhere]

        def found():
            rows = self.model.shown(tape).entries
            keys = {key: next((e for e in rows if e.meta.get("idempotency_key") == key), None) for key in "klm"}
            by_uid = {uid: next((e for e in rows if e.uid == uid), None) for uid in uids}
            return {name: entry for name, entry in (by_uid | keys).items() if entry is not None}

        if len({e.uid for e in self.model.rows[tape].entries} if tape in self.model.rows else ()) == (len(self.model.rows[tape].entries) if tape in self.model.rows else 0):
            self.ask(handle, lambda store: store.find(tape, keys=list("klm"), uids=uids), found)

    @rule(number=numbers, handle=handles)
    def reopen(self, number, handle):
        which = self.kinds()[number % len(self.kinds())]
        self.portal.call(self.stores[which][handle].aclose)
        self.stores[which][handle] = self.opened(which)

    @rule(handle=handles)
    def look_at_everything(self, handle):
        model = self.model
        self.ask(handle, lambda store: store.list_tapes(), model.roots)
        for root in self.roots:
            self.ask(handle, lambda store, root=root: known(store, root), lambda root=root: [(name, *record) for name, record in model.branches.items() if kin_of(name).root == root])
        for main in self.mains():
            self.ask(handle, lambda store, main=main: store.sidecars(main), lambda main=main: model.sidecars(main))
            for tape in (main, sidecar_name(main, "s"), sidecar_name(main, "q")):
                self.ask(handle, lambda store, tape=tape: store.head(tape), lambda tape=tape: model.shown(tape).head)
                self.ask(handle, lambda store, tape=tape: listed(store, TapeQuery(tape=tape)), lambda tape=tape: model.shown(tape).entries)
                if tape != main:
                    self.ask(handle, lambda store, tape=tape: store.marks(tape), lambda tape=tape: model.shown(tape).marks)
                    self.ask(handle, lambda store, tape=tape: origin(store, tape), lambda tape=tape: model.sides.get(tape))


def agree(found, expected):
    """Return whether two outcomes are the same; of two things that are wrong at once (KeyConflict is a Conflict) either may be said."""
    are_errors = isinstance(found, type) and isinstance(expected, type)
    return (issubclass(found, expected) or issubclass(expected, found)) if are_errors else found == expected


async def archived(store, tape, upto):
    return (await store.archive(tape, upto=upto)).tape == tape


async def listed(store, query):
    return list(await store.fetch_all(query))


async def known(store, root):
    return [(record.name, record.parent, record.base, record.state, record.owner) for record in await store.branches(root)]


async def origin(store, sidecar):
    record = await store.branch(sidecar)
    return record and (record.parent, record.base)


TestFamilyMachine = FamilyMachine.TestCase
TestFamilyMachine.settings = settings(max_examples=300 if SOAK else 20, stateful_step_count=60 if SOAK else 30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
