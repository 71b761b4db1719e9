"""Monday: fourteen sites lose their tunnel once an hour, and why."""

from __future__ import annotations

from collections.abc import Iterator

from playhead.cli.demo import fleet
from playhead.cli.demo.fleet import BY_HOST, FLEET, LAB
from playhead.cli.demo.turns import Desk, failed, read_file, run, search, ticket
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message, assistant, user

GDN, GRU, NRT, ZRH, PRG, CPT, BLR = (BY_HOST[f"{site}-gw1"] for site in ("gdn", "gru", "nrt", "zrh", "prg", "cpt", "blr"))

COMPLAINT = """\
Ticket INC-48213 is mine since 13:50 and I have no idea yet. Customers at several sites say the VPN "hangs for half a minute, every hour". \
Gdańsk, São Paulo and 東京 opened tickets, Zürich called. Nobody touched the gateways today as far as I know; the last change was the firmware \
4.2.1 in the maintenance window on Saturday night. Please find out what is going on. Do not restart anything before we have evidence, \
and keep the ticket up to date for the night shift."""


def told(desk: Desk) -> Iterator[Message | TapeEntry]:
    """Yield the first day up to the handoff."""
    yield user(COMPLAINT, name="Mira")
    yield from _first_look(desk)
    yield from _fragments(desk)
    yield from _mappings(desk)
    yield from _period(desk)
    yield from _source(desk)
    yield from _laboratory(desk)


def _first_look(desk: Desk) -> Iterator[Message | TapeEntry]:
    yield from desk.turn(
        "I start with the runbook and the tickets, then I look at the three sites that complained, all read-only.",
        read_file("runbooks/site-loses-its-tunnel.md", fleet.source("runbook.md")),
        search(
            "VPN hangs every hour",
            {"number": "INC-48213", "site": "Gdańsk", "opened": "2026-03-02T09:12+01:00", "text": "Od rana VPN zrywa się co godzinę na około pół minuty, Teams i SAP się rozłączają."},
            {"number": "INC-48220", "site": "São Paulo", "opened": "2026-03-02T09:40-03:00", "text": "A VPN cai de hora em hora. Dura uns 30 segundos e volta sozinha. 210 pessoas afetadas."},
            {"number": "INC-48224", "site": "東京", "opened": "2026-03-02T18:05+09:00", "text": "毎時ちょうどごろにVPNが切断され、約35秒後に自動で復旧します。土曜日の更新後からです。"},
            {"number": "INC-48226", "site": "Zürich", "opened": "2026-03-02T12:58+01:00", "text": "Jede Stunde fällt die Telefonie kurz aus, heute zuletzt um 12:52."},
        ),
    )
    yield from desk.turn(
        "Four sites on three continents, all about once an hour, about half a minute. Now the gateways themselves.",
        *(run(g.host, "ikectl status --json", fleet.status(g)) for g in (GDN, GRU, NRT)),
    )
    yield assistant(
        "All three run 4.2.1 and each has reestablished its IKE SA 22 to 24 times in the last 24 hours. So the tunnel really goes down and comes back, once an hour; "
        "this is not a slow line. The children show `jitter_s: 0`, which I note without knowing yet whether it matters."
    )
    yield user("OK. Logs?", name="Mira")
    yield from desk.turn(
        "The hour from 13:00 on each of the three, headquarters time.",
        *(run(g.host, "journalctl --since 13:00 --until 14:00 -o short-iso-precise", fleet.journal(g, "03-02 13:00", lines=44)) for g in (GDN, GRU, NRT)),
    )
    yield assistant(
        "The same sequence on all three, within the same second when I convert the zones (13:02:20 at headquarters):\n\n"
        "1. `rekey of spi ... starts`\n2. `rekey collision, spi ... and peer's ...` about 40 ms later\n3. `deleting redundant spi ...`\n"
        "4. `kernel: xfrm: flushed 3 states for 198.51.100.7`\n5. `packets dropped, no state for policy corporate` until\n6. `peer is silent for 34 s, reestablishing`\n\n"
        "So far I can say *what* happens, not why. Three explanations fit the runbook: fragments that get lost when the big rekey messages are sent, a NAT mapping that is forgotten, "
        "or the rekey itself. I would like to rule out the first two with measurements before I read code."
    )
    yield from desk.turn(
        "First I put this into the ticket.",
        ticket("comment", "INC-48213", text="gdn, gru, nrt: IKE reestablished 22-24 times in 24 h, always after a rekey collision. Evidence attached: journals 13:00-14:00."),
    )
    yield TapeEntry.event("pager.note", {"to": "duty-network", "text": "INC-48213 under investigation, several sites, periodic, no action needed yet"})


def _fragments(desk: Desk) -> Iterator[Message | TapeEntry]:
    yield from desk.turn(
        "Fragments: pings with the don't-fragment bit through the tunnel, two sizes for each of four sites.",
        *(run(g.host, f"ping -M do -c 6 -s {size} 10.0.0.1", fleet.ping(g, size)) for g in (GDN, GRU, NRT, ZRH) for size in (1200, 1372)),
    )
    yield assistant(
        "Gdańsk is different: 1372 bytes do not pass and the path says its MTU is 1339 inside the tunnel, so the line carries only 1412. The other three pass. "
        "Gdańsk therefore has a *second* problem (clamp-mss 1387 is too large for it), but São Paulo, 東京 and Zürich drop every hour without it. Fragmentation is not the common cause."
    )
    yield user("Interesting, Gdańsk got a new PPPoE line in February and nobody told us. Separate ticket please, don't fix it now.", name="Mira")
    yield from desk.turn(
        "Done as its own ticket, with the measurement.",
        ticket("create", "CHG-9120", title="gdn-gw1: clamp-mss too large for the new line", text="Path MTU 1412 measured, uplink configured 1500. Proposed clamp-mss 1299.", parent="INC-48213"),
        read_file("config/gdn-gw1.conf", fleet.config(GDN)),
    )
    yield from desk.turn(
        "And for completeness the line itself, in case the errors come in bursts.",
        *(run(g.host, "ethtool -S wan0 | grep -E 'packets|bytes|error|collisions'", fleet.counters(g)) for g in (GDN, GRU)),
    )
    yield assistant("No CRC or length errors on either uplink. The line is fine.")


def _mappings(desk: Desk) -> Iterator[Message | TapeEntry]:
    yield user("What about NAT? 東京 sits behind the building's firewall.", name="Mira")
    yield from desk.turn(
        "If a mapping were forgotten, the hub would see the gateway come back from another port, and the drop would follow silence. Connection tracking on both ends and the hub's view of the peer:",
        run(NRT.host, "conntrack -S", fleet.tracked(NRT)),
        run("hub-ams1", "conntrack -S", fleet.tracked(ZRH)),
        run("hub-ams1", "ikectl peers --history 203.0.113.77", fleet.history(NRT)),
        failed("nrt-fw1", "show nat mappings 203.0.113.77", "ssh: connect to host nrt-fw1 port 22: Connection timed out"),
    )
    yield assistant(
        "I cannot reach the building's firewall (it is not ours), but I do not need it: over 23 reconnects the hub saw 東京 from port 4500 every time. A forgotten mapping would show other ports. "
        "And the journals show traffic up to the very second of the rekey, no silence before it. NAT is out."
    )
    yield user("Agreed. So the rekey.", name="Mira")


def _period(desk: Desk) -> Iterator[Message | TapeEntry]:
    yield from desk.turn(
        "Let me put the times of the drops side by side; the period should tell.",
        *(run("monitor", f"drops --site {g.host} --last 10", fleet.drops(g)) for g in (GDN, GRU, NRT, ZRH, BLR)),
    )
    yield assistant(
        "The period is not one hour but **60 min 35 s**: one child lifetime (3600 s) plus the 35 s of the outage. After each outage the SAs are born anew, and 3600 s later both ends want to rekey at the same second. "
        "Gdańsk, São Paulo, 東京 and ಬೆಂಗಳೂರು share the phase, because the hub restarted all their SAs on Saturday night; Zürich has its own, it was restarted later."
    )
    yield user("Nice. But then why not all 14? Praha and Cape Town are quiet.", name="Mira")
    yield from desk.turn(
        "I compare a quiet site with a loud one: configuration and journal.",
        read_file("config/prg-gw1.conf", fleet.config(PRG)),
        read_file("config/cpt-gw1.conf", fleet.config(CPT)),
        read_file("config/gru-gw1.conf", fleet.config(GRU)),
        run(PRG.host, "journalctl --since 13:00 --until 14:00 -o short-iso-precise", fleet.journal(PRG, "03-02 13:00", lines=30)),
    )
    yield assistant(
        "There it is. Praha and Cape Town have `jitter 135s`, everyone else `jitter 0s`. With jitter the two ends do not start in the same second, so there is no collision, and a rekey without collision is clean (Praha's journal: starts, moves over, deletes, 58 ms).\n\n"
        "Cape Town still runs 4.1.9. Praha runs 4.2.1, but its configuration was edited by hand in January, so it kept the line that the new firmware's default removed."
    )
    yield user("So a workaround is to set the jitter back. Is it safe to push to all?", name="Mira")
    yield from desk.turn(
        "It only makes collisions rarer, it does not explain why a collision is fatal: the RFC describes collisions as normal. I would like to know that before I recommend anything. Who changed it, and what do old tickets say about it?",
        search("rekey collision", *_old_tickets()),
        search("rekey_after jitter", {"commit": "5d1c0ae", "subject": "rekey: read the jitter from the policy (FW-2210)", "author": "t.havranek", "date": "2026-01-19"}, where="commits"),
        search(
            "kernel_flush_states",
            {"commit": "e07b91f", "subject": "sa_table: flush by peer and policy, one message instead of two (FW-2198)", "author": "l.oyelaran", "date": "2025-12-11"},
            where="commits",
        ),
    )


def _old_tickets() -> tuple[dict[str, object], ...]:
    return (
        {"number": "INC-31877", "opened": "2024-05-06", "closed": "2024-05-06", "text": "Rekey collision after hub failover, no loss of traffic, closed as expected behaviour."},
        {"number": "FW-2210", "opened": "2026-01-12", "closed": "2026-01-19", "text": "Auditors of the bank want to predict when keys change. Jitter becomes a policy setting, default 0."},
        {"number": "FW-2198", "opened": "2025-12-03", "closed": "2025-12-11", "text": "Hub needs 6000 netlink messages to delete 3000 SAs on failover; flush by mark halves that."},
    )


def _source(desk: Desk) -> Iterator[Message | TapeEntry]:
    yield assistant("In 2024 the same collision lost nothing. Two changes since then touch it: FW-2210 makes collisions certain, FW-2198 changes what a delete removes. Now the code.")
    yield from desk.turn(
        "The four files a rekey goes through.",
        read_file("firmware/ikevd/rekey.c", fleet.source("rekey.c")),
        read_file("firmware/ikevd/sa_table.c", fleet.source("sa_table.c")),
        read_file("firmware/ikevd/kernel.c", fleet.source("kernel.c")),
        read_file("firmware/ikevd/dpd.c", fleet.source("dpd.c")),
    )
    yield assistant(
        "I think I have it, line by line:\n\n"
        "* `rekey_after` returns `lifetime - jitter`. With jitter 0 on both ends, both start in the same second. Every time.\n"
        "* Both exchanges succeed, so two new SAs exist, **born in the same second**.\n"
        "* `rekey_resolve` picks the redundant one correctly and calls `sa_delete` on it.\n"
        "* `sa_delete` no longer deletes by SPI. It calls `kernel_flush_states(peer, policy, born)`, which drops every state of that policy *born in that second or before*. That is the redundant SA, the old SA, **and the survivor**.\n"
        "* ikevd still believes the survivor is there and points the policy at it. The kernel has no state: `packets dropped, no state for policy corporate`.\n"
        "* Nothing repairs it until DPD has waited 2 + 4 + 7 + 9 + 12 = 34 s.\n\n"
        "The log line `flushed 3 states` is the whole bug in three words: it should have been 1."
    )
    yield user("That fits everything, including the 34 s. Can you prove it in the lab before I wake the firmware people?", name="Mira")


def _laboratory(desk: Desk) -> Iterator[Message | TapeEntry]:
    yield from desk.turn(
        "Two lab gateways with 4.2.1, lifetime 120 s, jitter 0.",
        failed("lab-1", "lab reserve --hosts lab-1,lab-2 --minutes 60", "lab-2 is reserved by t.havranek until 17:30 (soak test FW-2231)"),
    )
    yield user("Take lab-3 instead, it's the same board.", name="Mira")
    yield from desk.turn(
        "Reserving lab-1 and lab-3, then loading the configuration.",
        run("lab-1", "lab reserve --hosts lab-1,lab-3 --minutes 60", "reserved lab-1, lab-3 until 17:41, reservation 7702"),
        run("lab-1", "lab load --firmware 4.2.1 --lifetime 120 --jitter 0", "lab-1: 4.2.1 loaded, lab-3: 4.2.1 loaded, child corporate up, lifetime 120 s, jitter 0 s"),
    )
    yield from desk.turn(
        "Ten lifetimes with traffic at 500 packets per second; a capture on the wire between the two at the same time.",
        run("lab-1", "lab traffic --rate 500 --until-rekeys 10 --report", _lab_report(jitter=0)),
        run("lab-1", "tcpdump -ni lan1 udp port 4500 -c 26", fleet.capture(LAB, "03-02 16:00", packets=26)),
        run("lab-1", "ip -s xfrm state", fleet.states(LAB)),
    )
    yield assistant(
        "Ten rekeys, ten collisions, ten outages of 34 to 36 s. In the capture one end goes mute right after the second `child_sa request` while the other keeps sending: exactly the missing outbound state. Now the counter-test."
    )
    yield from desk.turn(
        "Jitter on one side only, then a build with the delete by SPI put back would follow.",
        run("lab-1", "lab load --firmware 4.2.1 --lifetime 120 --jitter 20 --only lab-1", "lab-1: jitter 20 s, lab-3: jitter 0 s"),
        run("lab-1", "lab traffic --rate 500 --until-rekeys 10 --report", _lab_report(jitter=20)),
    )
    yield assistant("With jitter on one side: ten rekeys, no collision, nothing lost. So the workaround is safe, and the cause is confirmed from both ends.")
    yield from desk.turn(
        "One more: the state table in the half minute after a collision, read on lab-3 while it happens.",
        run("lab-3", "lab load --firmware 4.2.1 --lifetime 120 --jitter 0 && watch -n 1 'ip -s xfrm state | grep -c spi'", None),
    )
    yield user(
        "The lab just lost power, facilities are testing the generator. Don't wait for that command, we have enough. I'm handing over to Tomáš, my shift ends at 18:00. Write it down for him.",
        name="Mira",
    )
    yield from desk.turn(
        "The ticket first, then the note for the next shift.",
        ticket(
            "update",
            "INC-48213",
            status="cause found",
            text="4.2.x: on a rekey collision sa_delete() flushes the surviving SA too (same second of birth). Certain when jitter is 0 on both ends. Reproduced in the lab 10 of 10. Workaround: jitter 135s on the gateway side.",
            sites=[g.host for g in FLEET if not g.jitter],
        ),
    )


def _lab_report(*, jitter: int) -> str:
    rows = ["rekey  started by  collision  outage ms  lost packets"]
    dice = LAB.chance("lab", jitter)
    for i in range(10):
        outage = 0 if jitter else dice.randint(34_010, 35_900)
        rows.append(f"{i + 1:>5}  {'lab-1' if jitter else 'both':<10}  {'no' if jitter else 'yes':<9}  {outage:>9}  {outage // 2:>12}")
    return "\n".join(rows)
