"""Any sequence of appends, replays, conflicts, resets and re-openings leaves every store where a small model is."""

import os

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from playhead.entry.entry import TapeEntry
from playhead.errors import Conflict, KeyConflict
from playhead.store.adapt import adapt
from playhead.store.protocol import EMPTY, Head
from playhead.store.query import TapeQuery
from playhead.testing.stores import SilentListStore
from tests.stores import opened, place

TAPES = ("a", "b")
tapes = st.sampled_from(TAPES)
bodies = st.sampled_from(["x", "y", "z"])
keys = st.none() | st.sampled_from(["k", "l"])
batches = st.lists(st.tuples(bodies, keys), min_size=1, max_size=4)
EXAMPLES = 150 if os.environ.get("PLAYHEAD_SOAK") else 15


def made(batch):
    return [TapeEntry(0, "note", {"text": body}, {} if key is None else {"idempotency_key": key}) for body, key in batch]


class Model:
    """What a store promises, in a list and a number a tape."""

    def __init__(self):
        self.bodies = {tape: [] for tape in TAPES}
        self.keys = {tape: {} for tape in TAPES}
        self.resets = dict.fromkeys(TAPES, 0)

    def head(self, tape):
        return Head(self.resets[tape], len(self.bodies[tape]))

    def append(self, tape, batch, expected=None):
        known, ids, fresh = dict(self.keys[tape]), [], []
        for body, key in batch:
            if key in known:
                if known[key][1] != body:
                    return KeyConflict
                ids.append(known[key][0])
                continue
            ids.append(len(self.bodies[tape]) + len(fresh) + 1)
            fresh.append(body)
            if key is not None:
                known[key] = (ids[-1], body)
        if fresh and expected not in (None, self.head(tape)):
            return Conflict
        self.bodies[tape] += fresh
        self.keys[tape] = known
        return ids

    def reset(self, tape, batch):
        old = self.bodies[tape], self.keys[tape], self.resets[tape]
        self.bodies[tape], self.keys[tape] = [], {}
        found = self.append(tape, batch)
        if found is KeyConflict:
            self.bodies[tape], self.keys[tape], self.resets[tape] = old
        elif old[0] or old[2] or batch:
            self.resets[tape] += 1
        return found


class StoreMachine(RuleBasedStateMachine):
    """Drives one store, through two handles where it outlives the process, and the model beside it."""

    kind = "memory"

    def make(self):
        raise NotImplementedError

    @initialize()
    def start(self):
        self.place_context = place([self.kind])
        self.place = self.place_context.__enter__()
        self.portal_context = start_blocking_portal()
        self.portal = self.portal_context.__enter__()
        self.model = Model()
        self.stores = self.make()

    def teardown(self):
        if hasattr(self, "stores"):
            for store in self.stores:
                self.portal.call(store.aclose)
            self.portal_context.__exit__(None, None, None)
            self.place_context.__exit__(None, None, None)

    def ask(self, which, method, *args, **kwargs):
        store = self.stores[which % len(self.stores)]

        async def call():
            return await getattr(store, method)(*args, **kwargs)

        try:
            return [e.id for e in self.portal.call(call)]
        except Conflict as error:
            return type(error)

    @rule(which=st.integers(0, 1), tape=tapes, batch=batches)
    def append(self, which, tape, batch):
        assert self.ask(which, "append_many", tape, made(batch)) == self.model.append(tape, batch)

    @rule(which=st.integers(0, 1), tape=tapes, batch=batches, near=st.integers(-1, 1), turn=st.integers(-1, 1))
    def append_expecting(self, which, tape, batch, near, turn):
        head = self.model.head(tape)
        expected = Head(head.generation + turn, head.id + near)
        assert self.ask(which, "append_many", tape, made(batch), expected_head=expected) == self.model.append(tape, batch, expected)

    @rule(which=st.integers(0, 1), tape=tapes, count=st.integers(60, 70))
    def fill(self, which, tape, count):
        batch = [("x", None)] * count
        assert self.ask(which, "append_many", tape, made(batch)) == self.model.append(tape, batch)

    @rule(which=st.integers(0, 1), tape=tapes, batch=st.just([]) | batches)
    def reset(self, which, tape, batch):
        assert self.ask(which, "reset", tape, entries=made(batch)) == self.model.reset(tape, batch)

    @invariant()
    def every_handle_shows_what_the_model_holds(self):
        for store in getattr(self, "stores", ()):
            for tape in TAPES:
                entries = self.portal.call(store.fetch_all, TapeQuery(tape=tape))
                assert [(e.id, e.payload["text"]) for e in entries] == list(enumerate(self.model.bodies[tape], 1))
                assert self.portal.call(store.head, tape) == (self.model.head(tape) if any(self.model.head(tape)) else EMPTY)
            assert self.portal.call(store.list_tapes) == [tape for tape in TAPES if self.model.bodies[tape]]


class KeptMachine(StoreMachine):
    """Opens two handles on what is kept at one place, and now and then another."""

    def make(self):
        return [self.opened() for _ in range(2)]

    def opened(self):
        return opened(self.kind, self.place, durability="process")

    @rule(which=st.integers(0, 1))
    def reopen(self, which):
        self.portal.call(self.stores[which].aclose)
        self.stores[which] = self.opened()


class SQLiteMachine(KeptMachine):
    kind = "sqlite"


class PostgresMachine(KeptMachine):
    kind = "postgres"


class MemoryMachine(StoreMachine):
    def make(self):
        return [opened(self.kind, self.place)]


class AdaptedMachine(StoreMachine):
    def make(self):
        return [adapt(SilentListStore())]


for machine in (SQLiteMachine, PostgresMachine, MemoryMachine, AdaptedMachine):
    machine.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=20 if issubclass(machine, KeptMachine) else 30, deadline=None)
TestSQLiteMachine = SQLiteMachine.TestCase
TestPostgresMachine = pytest.mark.usefixtures("postgres")(PostgresMachine.TestCase)
TestMemoryMachine = MemoryMachine.TestCase
TestAdaptedMachine = AdaptedMachine.TestCase
