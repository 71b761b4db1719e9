"""Wednesday: what is told to whom, and what is done so that it does not come back."""

from __future__ import annotations

from collections.abc import Iterator

from playhead.cli.demo import fleet
from playhead.cli.demo.fleet import FLEET
from playhead.cli.demo.turns import Desk, read_file, run, search, ticket
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message, assistant, user

REPORT = """\
**What happened.** From Sunday 1 March, 00:41, to Tuesday 3 March, 16:10, twelve of fourteen sites lost their tunnel for 34 to 36 seconds about once an hour (every 60 min 35 s).

**Why.** Two changes met. FW-2198 (December) let ikevd remove a security association by its time of birth instead of by its number, which after a *rekey collision* also removes the one that should survive. \
FW-2210 (January) set the default jitter to zero, so that both ends of every tunnel rekeyed in the same second and a collision became certain. Traffic then had nowhere to go until dead-peer detection noticed after 34 seconds.

**Why the tests were green.** They asked ikevd's own table, where the survivor was still listed, and the fake kernel was kinder than the real one. The review of FW-2210 looked at the timing of one end only.

**What went well.** Evidence before restarts; two wrong explanations ruled out by measurement in forty minutes; a real second fault (Gdańsk's MTU) kept apart from the first; a canary that only hurt us.

**What did not.** It took from Sunday to Monday noon to connect four tickets in four languages. The maintenance window ended before one full lifetime had passed. The new line in Gdańsk was known to purchasing but not to us."""


def told(desk: Desk) -> Iterator[Message | TapeEntry]:
    """Yield the look back."""
    yield user("Post-mortem time. First the numbers: drops per site from Saturday to now, please, and are we really at zero?", name="Mira")
    yield from desk.turn(
        "All sites, from the monitor.", run("monitor", "drops --all --since 2026-02-28 --by-site --json", _drops_by_site()), run("monitor", "drops --all --since '2026-03-03 16:10'", "0 drops")
    )
    yield assistant(
        "Zero since Tuesday 16:10. Before that 744 drops over twelve sites; Praha and Cape Town had none. In people: about 1,000 were cut off for some 35 seconds, 60 times each, of which perhaps 20 in working hours."
    )
    yield user("When exactly did it start? The window on Saturday was from 23:00.", name="Mira")
    yield from desk.turn(
        "From the hub's log of that night.",
        run("hub-ams1", "journalctl --since '2026-02-28 22:50' --until '2026-03-01 01:10' -u ikevd --grep 'collision|restart|version'", _hub_night()),
        search("maintenance window 28 February", {"number": "CHG-9077", "text": "Firmware 4.2.1 on 13 gateways and hub, 23:00-00:30, smoke test passed 00:25, window closed 00:30"}),
    )
    yield assistant(
        "The first collision came at 00:41, eleven minutes after the window was closed. The smoke test at 00:25 could not have seen it: it needs a full lifetime of one hour. That belongs into the report."
    )
    yield user("Write the report. One page, no blame.", name="Mira")
    yield assistant(REPORT)
    yield user("Very good. Now the actions: few, with owners, and things we'd really do.", name="Mira")
    yield from desk.turn(
        "Five, each as a ticket.",
        ticket("create", "FW-2244", title="Test double of the kernel: run the same contract tests against the double and a real kernel in a namespace", owner="t.havranek", due="2026-03-20"),
        ticket("create", "FW-2245", title="Collision in every CI run: both ends start, packets counted", owner="l.oyelaran", due="2026-03-13"),
        ticket("create", "OPS-1188", title="A maintenance window stays open for one full lifetime after the last change", owner="m.kowalczyk", due="2026-03-09"),
        ticket("create", "OPS-1189", title="Monitor groups drops by period and phase over all sites and raises one incident", owner="m.kowalczyk", due="2026-04-01"),
        ticket("create", "OPS-1190", title="Purchasing tells operations about new lines (form has a field for the MTU)", owner="j.lindqvist", due="2026-03-31"),
    )
    yield user("What would OPS-1189 look like? Sketch it for me, the monitor is Python.", name="Mira")
    yield from desk.turn("First how drops are stored today.", read_file("monitor/schema.sql", fleet.source("schema.sql")), run("monitor", "drops --site osl-gw1 --last 10", fleet.drops(FLEET[4])))
    yield assistant(
        "A drop is a row with a site and a start in UTC, so it is a small query and a small loop:\n\n"
        "```python\n"
        "def periodic(drops: list[datetime], *, at_least: int = 4, tolerance: timedelta = timedelta(seconds=5)) -> timedelta | None:\n"
        '    """Return the period of a site\'s drops, None where there is none."""\n'
        "    gaps = [b - a for a, b in pairwise(drops)]\n"
        "    if len(gaps) < at_least:\n"
        "        return None\n"
        "    middle = sorted(gaps)[len(gaps) // 2]\n"
        "    return middle if all(abs(gap - middle) <= tolerance for gap in gaps) else None\n"
        "```\n\n"
        "Sites whose periods agree within the tolerance belong to one incident; the phase (time of the last drop modulo the period) tells which of them were restarted together. "
        "On the data of last Sunday this finds twelve sites with 60 min 35 s after the fifth drop, at 05:20, nine hours before the first of us looked."
    )
    yield user("Love it, put the sketch into the ticket. Now the customers. Japanese and Polish please, short and honest.", name="Mira")
    yield assistant(
        "東京オフィスの皆様\n\n2月28日の更新以降、約1時間ごとにVPNが35秒ほど切断される不具合がございました。原因は鍵の更新が両端で同時に行われた際のソフトウェアの誤りです。"
        "3月3日に修正版を導入し、それ以降切断は発生しておりません。ご不便をおかけし、申し訳ございませんでした。同じことが起きないよう、更新後の確認時間を1時間以上に延ばします。\n\n"
        "Szanowni Państwo (Gdańsk),\n\nod aktualizacji 28 lutego połączenie VPN zrywało się mniej więcej co godzinę na około 35 sekund. Przyczyną był błąd w oprogramowaniu bramy przy jednoczesnej zmianie kluczy po obu stronach. "
        "Od 3 marca, godz. 16:10, działa poprawiona wersja i przerw już nie ma. Przy okazji dostosowaliśmy ustawienia do Państwa nowego łącza, dzięki czemu duże pliki przesyłają się szybciej. Przepraszamy za utrudnienia."
    )
    yield user("Perfect. Close the tickets and tell me what is left open.", name="Mira")
    yield from desk.turn(
        "Closing.",
        *(ticket("close", number, resolution="fixed by firmware 4.2.2", told="customer informed in their language") for number in ("INC-48213", "INC-48220", "INC-48224", "INC-48226")),
        search(
            "status:open parent:INC-48213",
            {"number": "CHG-9127", "title": "cpt-gw1: 4.1.9 to 4.2.2", "due": "2026-03-05"},
            {"number": "FW-2244", "title": "Test double of the kernel", "due": "2026-03-20"},
            {"number": "FW-2245", "title": "Collision in every CI run", "due": "2026-03-13"},
            {"number": "OPS-1188", "title": "Maintenance window of one full lifetime", "due": "2026-03-09"},
            {"number": "OPS-1189", "title": "Monitor groups drops by period", "due": "2026-04-01"},
            {"number": "OPS-1190", "title": "Purchasing tells operations about lines", "due": "2026-03-31"},
        ),
    )
    yield assistant("Closed. Open are Cape Town on Thursday at 22:00 local and the five actions. Nothing else refers to INC-48213.")
    yield user("One last thing: which SPI was it in Gdańsk at the first collision of the log you read, and how many states did the kernel flush?", name="Mira")


def _drops_by_site() -> str:
    rows = []
    for gateway in FLEET:
        dice = gateway.chance("week")
        rows.append(
            f'{{"site": "{gateway.host}", "city": "{gateway.city}", "drops": {0 if gateway.jitter else 62}, "down_s": {0 if gateway.jitter else dice.randint(2110, 2190)}, '
            f'"lost_packets": {0 if gateway.jitter else dice.randint(90_000, 400_000)}, "clients": {gateway.clients}}}'
        )
    return "\n".join(rows)


def _hub_night() -> str:
    dice = FLEET[0].chance("hub night")
    lines = ["2026-02-28T23:04:11+01:00 hub-ams1 ikevd[401]: restart requested by upgrade, version 4.1.9", "2026-02-28T23:06:50+01:00 hub-ams1 ikevd[388]: version 4.2.1 starts, 14 peers configured"]
    for i, gateway in enumerate(g for g in FLEET if not g.jitter):
        lines.append(f"2026-03-01T00:41:{20 + i:02d}+01:00 hub-ams1 ikevd[388]: {gateway.host}: rekey collision, spi {dice.getrandbits(32):08x} and peer's {dice.getrandbits(32):08x}")
    return "\n".join(lines)
