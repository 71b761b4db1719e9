"""Tuesday: the new firmware goes to fourteen sites, one canary first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from playhead.cli.demo import fleet
from playhead.cli.demo.fleet import BY_HOST, Gateway
from playhead.cli.demo.turns import Desk, failed, read_file, run, search, ticket
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message, assistant, user

VERSION = "4.2.2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One gateway's upgrade: when, how much flash is free, and what was said before and after it."""

    site: str
    hour: str
    flash: int
    before: str
    after: str

    @property
    def gateway(self) -> Gateway:
        """The gateway that is visited."""
        return BY_HOST[f"{self.site}-gw1"]


FIRST_WAVE = (
    Visit(
        site="mad",
        hour="03-03 09:00",
        flash=51,
        before="Madrid has the fewest people of the sites without jitter, and its office opens late.",
        after="Madrid rekeyed at its usual moment without a collision: random jitter of its own. Nothing lost.",
    ),
    Visit(site="osl", hour="03-03 09:00", flash=47, before="Oslo next, the other small one in our zone.", after="Oslo is clean as well, and its voice queue shows no drop at the rekey."),
    Visit(site="cph", hour="03-03 09:00", flash=62, before="København closes the first wave.", after="Three of three. All rekeys between 40 and 70 ms."),
)
SECOND_WAVE = (
    Visit(
        site="lis",
        hour="03-03 11:00",
        flash=44,
        before="Second wave of five, Lisboa first; Ireland and Portugal are different countries, so both may be in it.",
        after="Lisboa is done; 61 people were online by then and nobody called.",
    ),
    Visit(
        site="dub",
        hour="03-03 11:00",
        flash=39,
        before="Baile Átha Cliath: flash at 39 %, enough.",
        after="Dublin done. Its journal shows one collision, and this time it was harmless: the old SA went, the survivor stayed. That is the fix at work, not just the jitter.",
    ),
    Visit(site="yul", hour="03-03 11:00", flash=55, before="Montréal sleeps (05:00 there), a good moment.", after="Montréal done, no one was online."),
    Visit(
        site="nrt",
        hour="03-03 11:00",
        flash=36,
        before="東京 is in its evening. 佐藤さん asked for a call before the reboot; Mira made it.",
        after="東京 is done. Hub still sees it from port 4500, as it should.",
    ),
    Visit(
        site="syd",
        hour="03-03 11:00",
        flash=58,
        before="Sydney is asleep too, and its line has the smaller MTU of 1492, which makes it a good test of the fragments.",
        after="Sydney done; pings of 1372 bytes pass.",
    ),
)
THIRD_WAVE = (
    Visit(
        site="gru",
        hour="03-03 14:00",
        flash=41,
        before="Third wave. São Paulo has 210 people, so I take it at the start of their day, before the bank's batch at 11:30 local.",
        after="São Paulo is done, 41 seconds without tunnel for the reboot, announced by Ana beforehand.",
    ),
    Visit(
        site="zrh",
        hour="03-03 14:00",
        flash=48,
        before="Zürich: telephony was their complaint, so I look at the voice child in particular.",
        after="Zürich done, voice and corporate both rekeyed cleanly.",
    ),
    Visit(
        site="prg",
        hour="03-03 14:00",
        flash=66,
        before="Praha never dropped, but it has the bug too and a hand-edited configuration. Same image.",
        after="Praha done; its own `jitter 135s` stays, it is an explicit setting.",
    ),
    Visit(
        site="blr",
        hour="03-03 14:00",
        flash=33,
        before="ಬೆಂಗಳೂರು is the largest site and the last of this wave: 301 people, evening there.",
        after="ಬೆಂಗಳೂರು done. That was the site I worried about most; 33 % of flash was just enough.",
    ),
)


def told(desk: Desk) -> Iterator[Message | TapeEntry]:
    """Yield the day of the roll-out."""
    yield user("Good morning, Mira again. Plan for today: canary, three, five, the rest. Which one would you take as the canary?", name="Mira")
    yield from _canary(desk)
    yield user("Go on with three. Small sites please.", name="Mira")
    for visit in FIRST_WAVE:
        yield from _visit(desk, visit)
    yield from desk.turn("First wave into the ticket.", ticket("comment", "FW-2240", text="Wave 1 (mad, osl, cph) done, one full lifetime each, 0 packets lost at the rekey."))
    yield user("Second wave, five sites. I called Satō-san, Tokyo is fine with 19:10 local.", name="Mira")
    for visit in SECOND_WAVE:
        yield from _visit(desk, visit)
    yield TapeEntry.event("rollout.wave", {"wave": 2, "done": [v.gateway.host for v in SECOND_WAVE]})
    yield user("Lunch. Then the big ones. Ana (support São Paulo) is on this channel now.", name="Mira")
    yield user("Oi! Os clientes já perguntam se hoje resolve. O que eu posso dizer?", name="Ana")
    yield assistant(
        "Bom dia, Ana! Pode dizer o seguinte: a causa foi encontrada ontem à tarde, a correção foi testada durante a noite (200 renovações de chave sem perda) e já está em nove unidades. "
        "São Paulo recebe a nova versão hoje às 10:00 (horário local), com cerca de 40 segundos de interrupção anunciada. Depois disso as quedas de hora em hora terminam."
    )
    for visit in THIRD_WAVE:
        yield from _visit(desk, visit)
    yield from _cape_town(desk)
    yield from _gdansk(desk)


def _visit(desk: Desk, visit: Visit) -> Iterator[Message | TapeEntry]:
    gateway = visit.gateway
    yield from desk.turn(
        visit.before,
        run(gateway.host, "upgrade preflight", fleet.preflight(gateway, flash=visit.flash)),
        run(gateway.host, "ikectl status --json", fleet.status(gateway, age=gateway.chance(visit.hour).randint(300, 3300))),
    )
    yield from desk.turn(f"Preflight is fine. Upgrading {gateway.host}.", run(gateway.host, f"upgrade install {VERSION} --confirm", fleet.upgrade(gateway, VERSION)))
    fixed = fleet.mended(gateway, VERSION)
    yield from desk.turn(
        f"Watching one lifetime of {gateway.city}.",
        run(gateway.host, f"journalctl --since '{gateway.at(visit.hour):%H:%M}' -o short-iso-precise", fleet.journal(fixed, visit.hour, lines=22)),
        run(gateway.host, "ikectl status --json", fleet.status(fixed, age=fixed.chance("age").randint(60, 900))),
        run(gateway.host, "ping -M do -c 6 -s 1372 10.0.0.1", fleet.ping(fixed, 1372)),
    )
    yield assistant(visit.after)


def _canary(desk: Desk) -> Iterator[Message | TapeEntry]:
    office = replace(BY_HOST["osl-gw1"], host="ams-gw0", city="Amsterdam", address="192.0.2.10", subnet=10)
    yield assistant(
        "I would not take a customer's site at all for the first hour: `ams-gw0`, our own office, runs 4.2.1 with jitter 0 and drops like the others, and if it goes wrong only we notice. "
        "For the first wave I would then take Madrid, Oslo and København: small, our zone, no two in one country."
    )
    yield user("Our own office it is, I'm sitting in it 😅", name="Mira")
    yield from desk.turn(
        "Preflight and a last look at the office gateway as it is.",
        run("ams-gw0", "upgrade preflight", fleet.preflight(office, flash=71)),
        search("ams-gw0", {"number": "CHG-8801", "text": "ams-gw0 got a larger flash in 2025, console on port 14"}),
    )
    yield from desk.turn("Upgrading.", run("ams-gw0", f"upgrade install {VERSION} --confirm", None))
    yield user("That took my own connection with it, of course. I'm back, what did it say?", name="Mira")
    yield from desk.turn(
        "The answer of that command is lost, so I ask the gateway what state it is in instead of running it again.",
        run("ams-gw0", "upgrade last --verbose", fleet.upgrade(office, VERSION)),
        run("ams-gw0", "uptime", " 07:21:40 up 3 min,  1 user,  load average: 0.31, 0.22, 0.09"),
    )
    yield assistant(
        "It finished while we were cut off: slot B confirmed, digest of the configuration unchanged. Running it twice would have written slot A and taken our way back. Now one full lifetime."
    )
    yield from desk.turn(
        "An hour later:",
        run("ams-gw0", "journalctl --since 07:20 -o short-iso-precise", fleet.journal(fleet.mended(office, VERSION), "03-03 07:20", lines=34)),
        run("monitor", "drops --site ams-gw0 --last 10", "ams-gw0 (Amsterdam): 0 drops since 07:21, 23 in the 24 h before"),
    )
    yield assistant("One rekey, clean, nothing lost. The canary has passed.")


def _cape_town(desk: Desk) -> Iterator[Message | TapeEntry]:
    gateway = BY_HOST["cpt-gw1"]
    yield user("Cape Town is still on 4.1.9. It has no bug, do we touch it?", name="Mira")
    yield from desk.turn(
        "Let me see what it would take.",
        failed(gateway.host, "upgrade preflight", fleet.preflight(gateway, flash=12)),
        run(gateway.host, "df -h /flash && du -sh /flash/*", fleet.source("flash.txt")),
    )
    yield assistant(
        "It fails its preflight: 12 % of flash is free, 30 % are needed. A core dump of 2024 and two old images take most of it. I would not upgrade it today: it has no collision problem, and a first jump from 4.1 to 4.2 deserves its own window. "
        "I propose to clear the core dump after Mira or Tomáš had a look at it, and to plan it for Thursday."
    )
    yield user("Agreed. Keep the core dump, copy it to the archive first.", name="Mira")
    yield from desk.turn(
        "Copied, compared, then removed.",
        run(
            gateway.host,
            "scp /flash/core.ikevd.1711 archive:/cores/cpt/ && sha256sum /flash/core.ikevd.1711",
            "9b1c6f4d5f0e7c21a8b3d20417c6e9f3ad5502be1d7c4c7f0f6a6f1e2b9d8c47  /flash/core.ikevd.1711",
        ),
        run("archive", "sha256sum /cores/cpt/core.ikevd.1711", "9b1c6f4d5f0e7c21a8b3d20417c6e9f3ad5502be1d7c4c7f0f6a6f1e2b9d8c47  /cores/cpt/core.ikevd.1711"),
    )
    yield from desk.turn(
        "The digests agree.",
        run(gateway.host, "rm /flash/core.ikevd.1711 && df -h /flash", "Filesystem      Size  Used Avail Use% Mounted on\n/dev/mtdblock6  256M  141M  115M  55% /flash"),
        ticket("create", "CHG-9127", title="cpt-gw1: 4.1.9 to 4.2.2", window="2026-03-05T22:00+02:00", text="Flash cleared, 45 % free. Core dump of 2024 kept in the archive."),
    )


def _gdansk(desk: Desk) -> Iterator[Message | TapeEntry]:
    gateway = BY_HOST["gdn-gw1"]
    yield user("Last one: Gdańsk. It also has the MTU problem (CHG-9120, approved an hour ago). Both in one go?", name="Mira")
    yield assistant("I would do them one after the other, firmware first and the setting after one clean rekey: two changes at once, and if something fails we do not know which one it was.")
    yield user("Fair. Go.", name="Mira")
    yield from desk.turn("Preflight.", run(gateway.host, "upgrade preflight", fleet.preflight(gateway, flash=37)), read_file("config/gdn-gw1.conf", fleet.config(gateway)))
    yield from desk.turn(
        "Upgrading.",
        failed(
            gateway.host, f"upgrade install {VERSION} --confirm", "[00:31] gdn-gw1: copy halden-4.2.2.img (41 MB) ... stalled at 18 MB, no progress for 60 s\nnothing was written, slot A is active"
        ),
    )
    yield assistant(
        "The copy of the image stalls: 41 MB in full-size segments through a path that only carries 1412. That is CHG-9120 getting in the way of the upgrade. So for Gdańsk the order has to be the other way round after all; nothing was written yet."
    )
    yield user("Ha. OK, MSS first.", name="Mira")
    yield from desk.turn(
        "Setting clamp-mss to 1299 (1412 - 40 - 73) and testing with the sizes from yesterday.",
        run(gateway.host, "config set firewall clamp-mss 1299 --ticket CHG-9120", "firewall.clamp-mss: 1387 -> 1299, applied, reverts in 300 s unless confirmed"),
        run(gateway.host, "ping -M do -c 6 -s 1300 10.0.0.1", fleet.ping(gateway, 1300)),
        run(gateway.host, "curl -so /dev/null -w '%{speed_download}' http://10.0.0.20/halden-4.2.2.img", "11204332.000"),
    )
    yield from desk.turn(
        "The image comes through at 11 MB/s. Confirming and upgrading.",
        run(gateway.host, "config confirm", "confirmed"),
        run(gateway.host, f"upgrade install {VERSION} --confirm", fleet.upgrade(gateway, VERSION)),
    )
    fixed = fleet.mended(gateway, VERSION)
    yield from desk.turn(
        "One lifetime in Gdańsk.",
        run(gateway.host, "journalctl --since 16:00 -o short-iso-precise", fleet.journal(fixed, "03-03 16:00", lines=36)),
        run(gateway.host, "ikectl status --json", fleet.status(fixed, age=412)),
    )
    yield assistant("Clean. Thirteen sites on 4.2.2 plus our office, Cape Town planned for Thursday. I count zero drops in the whole fleet since 16:10.")
