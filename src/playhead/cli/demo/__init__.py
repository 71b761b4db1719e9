"""A long conversation with tool calls: two days of an engineer and an assistant with a fleet of VPN gateways.

Everything in it is made up here, by code that gives the same conversation every time.
"""

from __future__ import annotations

from collections.abc import Iterator

from playhead.cli.demo import repair, review, rollout, triage
from playhead.cli.demo.turns import Desk
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message, system

PROMPT = """\
You are the on-call assistant of a network team that runs fourteen VPN gateways and their hub. You have four tools: read_file, run, search and ticket. \
Look before you touch: read-only commands first, evidence before restarts, one change at a time, and say what you do not know. \
Tickets are kept up to date for whoever comes next. Answer in the language you are asked in."""

HANDOFF = {
    "summary": (
        "INC-48213: twelve of fourteen sites lose their tunnel for 35 s every 60 min 35 s since the firmware 4.2.1 of Saturday. Cause: on a rekey collision sa_delete() flushes the surviving SA "
        "(same second of birth, FW-2198); jitter 0 on both ends (FW-2210) makes the collision certain. Reproduced in the lab 10 of 10; with jitter on one side 0 of 10. Not the cause: fragmentation, NAT, the lines."
    ),
    "next": ["find out why the tests were green", "patch sa_delete and the default jitter", "soak in the lab", "roll out in waves, canary first"],
    "open": {"CHG-9120": "gdn-gw1 clamp-mss too large for its new line", "lab": "lost power at 17:38, the last command has no answer"},
    "workaround": "set jitter 135s on the gateway side",
}


def demo_messages() -> Iterator[Message | TapeEntry]:
    """Yield the conversation in order: messages as they were said, and what else was noted on the tape.

    It holds several hundred entries: parallel calls, errors, two calls whose answer never came, a handoff
    from one shift to the next, and text in nine languages.
    """
    desk = Desk()
    yield system(PROMPT)
    yield from triage.told(desk)
    yield TapeEntry.anchor("cause-found", HANDOFF)
    yield from repair.told(desk)
    yield from rollout.told(desk)
    yield from review.told(desk)
