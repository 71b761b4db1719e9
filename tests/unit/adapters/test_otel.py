"""OpenTelemetry is told of runs, steps, calls, compiles and folds by the conventions for generative AI."""

from __future__ import annotations

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from playhead.adapters.otel.attributes import attributes
from playhead.adapters.otel.instrumentation import instrument
from playhead.agent.agent import Agent
from playhead.agent.tools import tool
from playhead.entry.message import user
from playhead.errors import LLMError, ModelUnavailable, OverBudgetError
from playhead.llm.client import Client
from playhead.model.protocol import Usage
from playhead.model.scripted import ScriptedModel, call
from playhead.prompt.budget import Budget
from playhead.prompt.compile import compile as compiled
from playhead.prompt.manager.manager import ContextManager
from playhead.prompt.strategies.autobiographical import AutobiographicalStrategy
from playhead.store.memory.store import InMemoryTapeStore
from playhead.tape.tape import Tape
from tests.unit.prompt.folding.managed import SMALL

SECRET = "the code is 4711"


@tool
def ping(host: str) -> str:
    """Ping a host."""
    if host == "down":
        raise RuntimeError(SECRET)
    return f"{host} answers, {SECRET}"


class Listening:
    """Providers of OpenTelemetry that keep what they are told."""

    def __init__(self, exporter=None):
        self.exporter, self.reader = exporter or InMemorySpanExporter(), InMemoryMetricReader()
        self.tracer_provider = TracerProvider()
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meter_provider = MeterProvider(metric_readers=[self.reader])

    @property
    def spans(self):
        return self.exporter.get_finished_spans()

    def one(self, name):
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def points(self, name):
        return [point for scope in self.reader.get_metrics_data().resource_metrics[0].scope_metrics for metric in scope.metrics if metric.name == name for point in metric.data.data_points]


@pytest.fixture
def listening():
    heard = Listening()
    yield heard
    heard.meter_provider.shutdown()


def instrumented(heard, **options):
    return instrument(tracer_provider=heard.tracer_provider, meter_provider=heard.meter_provider, **options)


async def asked(words, *, tape="support/42", **options):
    agent = Agent(store=InMemoryTapeStore(), tools=[ping], system_prompt=f"Be brief; {SECRET}.", name="desk", **options)
    async with agent.run(f"Up? {SECRET}", model=ScriptedModel(words, name="openai:gpt-5-mini"), tape=tape) as stream:
        await stream.text()
    await agent.aclose()


TURN = [[call("ping", host="gw"), Usage(input=40, output=8, cache_read=10, cache_write=4)], ["It is up.", Usage(input=60, output=3, reasoning=2)]]


def test_a_run_is_an_agent_with_steps_with_chats_and_tools_under_one_conversation(listening):
    with instrumented(listening):
        anyio.run(asked, TURN)
    names = {span.context.span_id: span.name for span in listening.spans}
    tree = sorted((names.get(span.parent.span_id) if span.parent else "", span.name) for span in listening.spans)
    assert tree == [
        ("", "invoke_agent desk"),
        ("invoke_agent desk", "step"),
        ("invoke_agent desk", "step"),
        ("step", "chat gpt-5-mini"),
        ("step", "chat gpt-5-mini"),
        ("step", "compile"),
        ("step", "compile"),
        ("step", "execute_tool ping"),
    ]
    assert {span.attributes["gen_ai.conversation.id"] for span in listening.spans} == {"support/42"}
    assert len({span.context.trace_id for span in listening.spans}) == 1


def test_a_chat_says_who_was_asked_and_what_it_cost_with_the_cache_apart(listening):
    with instrumented(listening):
        anyio.run(asked, TURN)
    first, second = (span.attributes for span in listening.spans if span.name == "chat gpt-5-mini")
    usage = [first[f"gen_ai.usage.{name}"] for name in ("input_tokens", "output_tokens", "cache_read.input_tokens", "cache_creation.input_tokens")]
    assert usage == [40, 8, 10, 4]
    assert second["gen_ai.usage.reasoning.output_tokens"] == 2
    assert (first["gen_ai.operation.name"], first["gen_ai.provider.name"], first["gen_ai.request.model"]) == ("chat", "openai", "gpt-5-mini")
    assert first["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert first["gen_ai.response.time_to_first_chunk"] >= 0


def test_nothing_that_was_said_is_told_unless_it_is_asked_for(listening):
    with instrumented(listening):
        anyio.run(asked, TURN)
    assert SECRET not in "".join(span.to_json() for span in listening.spans)


def test_with_capture_content_messages_arguments_and_results_are_told(listening):
    with instrumented(listening, capture_content=True):
        anyio.run(asked, TURN)
    told = listening.one("execute_tool ping").attributes
    assert told["gen_ai.tool.call.arguments"] == '{"host":"gw"}'
    assert SECRET in told["gen_ai.tool.call.result"]
    second = [span.attributes for span in listening.spans if span.name == "chat gpt-5-mini"][1]
    assert '"role":"tool"' in second["gen_ai.input.messages"] and '"response":"gw answers' in second["gen_ai.input.messages"]
    assert second["gen_ai.output.messages"] == '[{"role":"assistant","parts":[{"type":"text","content":"It is up."}],"finish_reason":"stop"}]'
    assert SECRET in second["gen_ai.system_instructions"]


def test_a_failed_tool_and_a_failed_model_are_told_by_their_kind_alone(listening):
    async def go():
        with pytest.raises(ModelUnavailable):
            await asked([[call("ping", host="down")], ModelUnavailable(f"Busy: {SECRET}")])

    with instrumented(listening):
        anyio.run(go)
    assert listening.one("execute_tool ping").attributes["error.type"] == "tool"
    failed = [span for span in listening.spans if span.status.status_code is trace.StatusCode.ERROR]
    assert [span.name for span in failed] == ["chat gpt-5-mini", "step", "invoke_agent desk"]
    assert {span.attributes["error.type"] for span in failed} == {ModelUnavailable("x").kind}
    assert SECRET not in "".join(span.to_json() for span in listening.spans)


def test_a_compile_says_what_its_prompt_is_made_of_and_what_refused_it(listening):
    async def go():
        tape = Tape(InMemoryTapeStore(), "t")
        await tape.append(user("word " * 400))
        await compiled(tape, Budget(2_000, reserve_for_response=100))
        with pytest.raises(OverBudgetError):
            await compiled(tape, Budget(120, reserve_for_response=20))

    with instrumented(listening):
        anyio.run(go)
    fits, refused = listening.spans
    assert fits.attributes["playhead.strategy"] == "passthrough"
    assert fits.attributes["playhead.tokens.total"] == fits.attributes["playhead.tokens.raw"] > 300
    assert refused.attributes["error.type"] == "over_budget"


def test_a_fold_says_how_many_tokens_it_saved_and_has_its_chat_within(listening):
    async def go():
        writer = ScriptedModel([["gw-1 was slow.", Usage(input=900, output=5)]], name="openai:writer")
        async with ContextManager.open(store=InMemoryTapeStore(), strategy=AutobiographicalStrategy(compression_model=writer, **SMALL)) as manager:
            for number in range(24):
                await manager.add_message("User" if number % 2 else "Claude", f"{number}: the gateway gw-1 was slow because its queue was full, and nobody freed a slot there.")
            await manager.tick()

    with instrumented(listening):
        anyio.run(go)
    fold, chat = listening.one("compact"), listening.one("chat writer")
    assert chat.parent.span_id == fold.context.span_id
    assert chat.attributes["gen_ai.conversation.id"] == fold.attributes["gen_ai.conversation.id"]
    assert fold.attributes["gen_ai.operation.name"] == "compact"
    assert fold.attributes["playhead.fold.did"] == "summary"
    assert fold.attributes["playhead.tokens.before"] > fold.attributes["playhead.tokens.after"] > 0


def test_calls_of_the_facade_are_chats_and_tools_of_the_conversation_of_their_tape(listening):
    async def go():
        llm = Client(ScriptedModel([TURN[0], TURN[1], TURN[1]], name="openai:gpt-5-mini"))
        await llm.run_tools("Up?", tape="support/42", tools=[ping])
        async for _ in await llm.stream("And now?", tape="support/42"):
            pass
        await llm.chat("Up?")

    with instrumented(listening):
        anyio.run(go)
    chats, tool = [span for span in listening.spans if span.name == "chat gpt-5-mini"], listening.one("execute_tool ping")
    assert [(chat.attributes.get("gen_ai.conversation.id"), chat.attributes["gen_ai.usage.input_tokens"]) for chat in chats] == [("support/42", 40), ("support/42", 60), (None, 60)]
    assert all("gen_ai.response.time_to_first_chunk" in chat.attributes for chat in chats)
    assert (tool.attributes["gen_ai.conversation.id"], tool.attributes["playhead.run.id"]) == ("support/42", chats[0].attributes["playhead.run.id"])
    assert sum(point.count for point in listening.points("gen_ai.client.operation.duration") if point.attributes["gen_ai.operation.name"] == "chat") == 3


def test_a_failed_call_of_the_facade_is_told_by_its_kind(listening):
    async def go():
        with pytest.raises(LLMError):
            await Client(ScriptedModel([ModelUnavailable(SECRET)], name="openai:gpt-5-mini")).chat("Up?", tape="t")

    with instrumented(listening):
        anyio.run(go)
    assert listening.one("chat gpt-5-mini").attributes["error.type"] == ModelUnavailable("x").kind


def test_tokens_and_durations_are_metrics(listening):
    with instrumented(listening):
        anyio.run(asked, TURN)
    tokens = {point.attributes["gen_ai.token.type"]: point.sum for point in listening.points("gen_ai.client.token.usage")}
    assert tokens == {"input": 100, "output": 11}
    durations = {point.attributes["gen_ai.operation.name"]: point.count for point in listening.points("gen_ai.client.operation.duration")}
    assert durations == {"invoke_agent": 1, "chat": 2, "execute_tool": 1}


class FailingExporter(SpanExporter):
    """An exporter whose collector is gone."""

    def export(self, spans):
        raise ConnectionError("no collector")


def test_an_exporter_that_fails_fails_no_run_and_no_write():
    heard = Listening(FailingExporter())

    async def go():
        agent = Agent(store=InMemoryTapeStore())
        async with agent.run("Up?", model=ScriptedModel(["Yes."]), tape="t") as stream:
            assert await stream.text() == "Yes."
        assert [m.text for m in await agent.tape("t").read_messages()] == ["Up?", "Yes."]

    with instrumented(heard):
        anyio.run(go)
    heard.meter_provider.shutdown()


def test_a_block_that_has_ended_tells_nothing_more(listening):
    with instrumented(listening) as instrumentation:
        instrumentation.uninstrument()
        anyio.run(asked, TURN)
    assert listening.spans == ()


def test_names_are_those_of_the_conventions():
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_") and isinstance(value, str)}
    facts = {"agent": "a", "tape": "t", "model": "openai:m", "name": "n", "usage": Usage(input=1, output=1, reasoning=1)}
    told = attributes("chat", facts)
    assert {name for name in told if name.startswith("gen_ai.")} <= known
