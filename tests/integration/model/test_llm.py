"""An LLM over a real client: a connection a call, or one for a block, blocking and awaited, and programs that close nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import anyio
import pytest

import playhead as ph
from tests.integration.model.server import ProviderServer, told
from tests.integration.model.wires import CHAT, Turn


class Counting(ProviderServer):
    """Counts connections."""

    connections = 0

    def converse(self, connection) -> None:
        self.connections += 1
        super().converse(connection)


def llm_of(server: ProviderServer) -> ph.LLM:
    return ph.LLM(CHAT.spec, api_key="k", base_url=server.url + CHAT.prefix, max_retries=0)


def test_calls_go_over_the_providers_wire_and_a_block_keeps_the_connection():
    with Counting(CHAT.answer(Turn(words=(word, "."))) for word in ("one", "two", "three", "four")) as server:
        llm = llm_of(server)
        tape = llm.tape("t")
        assert (tape.chat("1", max_tokens=50, temperature=0.5), "".join(tape.stream("2", max_tokens=50))) == ("one.", "two.")
        assert server.connections == 2
        with llm:
            with llm:  # a block inside, as in another thread
                assert tape.chat("3", max_tokens=50) == "three."
            assert tape.chat("4", max_tokens=50) == "four."
        assert server.connections == 3
    first, *_, last = (request.body for request in server.requests)
    assert (first["temperature"], len(last["messages"])) == (0.5, 7)


def test_awaited_calls_keep_a_connection_of_their_own_loop():
    with Counting(CHAT.answer(Turn(words=(word,))) for word in ("one", "two", "three", "four")) as server:
        llm = llm_of(server)

        async def go() -> list[str]:
            async with llm:
                return [await llm.chat_async("1"), await llm.chat_async("2"), llm.chat("from inside the loop"), await llm.chat_async("4")]

        assert anyio.run(go) == ["one", "two", "three", "four"]
        assert server.connections == 2


def test_a_wrong_key_is_a_matter_of_configuration_and_a_busy_provider_passes():
    with ProviderServer(
        [told(CHAT.failure(status=401, code="invalid_api_key", message="no"), status=401), told(CHAT.failure(status=429, code="rate_limit_exceeded", message="slow"), status=429)]
    ) as server:
        llm = llm_of(server)
        for kind in ("config", "temporary"):
            with pytest.raises(ph.LLMError) as caught:
                llm.chat("Hi.")
            assert caught.value.kind == kind


PROGRAM = """
import sys, playhead as ph
llm = ph.LLM("openai:gpt-5-mini", tape_store=ph.SQLiteTapeStore(sys.argv[1]))
tape = llm.tape("t")
print(tape.chat("Hi."))
stream = iter(tape.stream("Go on."))
print(next(stream))
agent = ph.sync.Agent(store=llm.store)
with agent.run("And?", model="openai:gpt-5-mini", tape="t") as run:
    print(run.text())
"""


def test_a_program_that_closes_nothing_ends_without_a_warning(tmp_path):
    with ProviderServer(CHAT.answer(Turn(words=("one", "two"))) for _ in range(3)) as server:
        env = {**os.environ, "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        command = [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path / "t.db")]
        ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout.split(), ended.stderr) == (0, ["onetwo", "one", "onetwo"], "")
