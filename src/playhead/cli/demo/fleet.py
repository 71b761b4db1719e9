"""The gateways of the demo's conversation, and what they answer: logs, counters, pings, captures; always the same ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from importlib.resources import files
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """One site's gateway; `path_mtu` is what its line really carries, `clients` how many people work there."""

    host: str
    city: str
    address: str
    subnet: int
    offset: float
    zone: str
    clients: int
    minute: int
    jitter: int = 0
    mtu: int = 1500
    path_mtu: int = 1500
    firmware: str = "4.2.1"
    peer: str = "198.51.100.7"

    def chance(self, *about: object) -> Random:
        """Return the dice for one observation: the same question gets the same answer."""
        return Random("/".join(map(str, (self.host, self.firmware, *about))))  # noqa: S311 (made-up logs, not secrets)

    def at(self, clock: str) -> datetime:
        """Return a time like `03-02 14:05` of headquarters (UTC+1) on the gateway's own clock."""
        return datetime.fromisoformat(f"2026-{clock}+01:00").astimezone(timezone(timedelta(hours=self.offset)))

    def rekey_after(self, at: datetime) -> datetime:
        """Return the first rekey at or behind a moment: one every lifetime plus the time an outage lasts."""
        first = datetime.fromisoformat(f"2026-03-01T00:{self.minute:02d}:20+01:00")
        return at + (first - at) % timedelta(seconds=3600 if self.jitter else 3635)


FLEET: tuple[Gateway, ...] = (
    Gateway(host="gdn-gw1", city="Gdańsk", address="203.0.113.18", subnet=18, offset=1, zone="Europe/Warsaw", clients=84, minute=41, mtu=1500, path_mtu=1412),
    Gateway(host="gru-gw1", city="São Paulo", address="203.0.113.41", subnet=41, offset=-3, zone="America/Sao_Paulo", clients=210, minute=41),
    Gateway(host="nrt-gw1", city="東京", address="203.0.113.77", subnet=77, offset=9, zone="Asia/Tokyo", clients=167, minute=41),
    Gateway(host="zrh-gw1", city="Zürich", address="192.0.2.14", subnet=14, offset=1, zone="Europe/Zurich", clients=52, minute=31),
    Gateway(host="osl-gw1", city="Oslo", address="192.0.2.29", subnet=29, offset=1, zone="Europe/Oslo", clients=39, minute=41),
    Gateway(host="lis-gw1", city="Lisboa", address="192.0.2.33", subnet=33, offset=0, zone="Europe/Lisbon", clients=61, minute=41),
    Gateway(host="prg-gw1", city="Praha", address="192.0.2.52", subnet=52, offset=1, zone="Europe/Prague", clients=118, minute=44, jitter=135),
    Gateway(host="dub-gw1", city="Baile Átha Cliath", address="192.0.2.61", subnet=61, offset=0, zone="Europe/Dublin", clients=95, minute=41),
    Gateway(host="yul-gw1", city="Montréal", address="203.0.113.90", subnet=90, offset=-5, zone="America/Toronto", clients=73, minute=41),
    Gateway(host="cpt-gw1", city="Cape Town", address="203.0.113.104", subnet=104, offset=2, zone="Africa/Johannesburg", clients=44, minute=7, jitter=135, firmware="4.1.9"),
    Gateway(host="blr-gw1", city="ಬೆಂಗಳೂರು", address="203.0.113.121", subnet=121, offset=5.5, zone="Asia/Kolkata", clients=301, minute=41),
    Gateway(host="syd-gw1", city="Sydney", address="203.0.113.140", subnet=140, offset=11, zone="Australia/Sydney", clients=88, minute=41, mtu=1492, path_mtu=1492),
    Gateway(host="mad-gw1", city="Madrid", address="192.0.2.88", subnet=88, offset=1, zone="Europe/Madrid", clients=47, minute=41),
    Gateway(host="cph-gw1", city="København", address="192.0.2.97", subnet=97, offset=1, zone="Europe/Copenhagen", clients=36, minute=41),
)
BY_HOST = {gateway.host: gateway for gateway in FLEET}
LAB = Gateway(host="lab-1", city="lab", address="10.99.0.1", peer="10.99.0.3", subnet=99, offset=1, zone="Europe/Warsaw", clients=0, minute=41)

ROUTINE = (
    "ikevd[812]: <site-hub|{n}> keepalive to {peer}[4500], last heard {s} s ago",
    "ikevd[812]: <site-hub|{n}> received INFORMATIONAL request {m}, answered",
    "ikevd[812]: corporate: {p} packets in, {q} out, replay window at {m}",
    "kernel: wan0: flow control rx/tx off, link 1000 Mb/s full",
    "chronyd[604]: selected source 10.0.0.53, offset {s} us",
    "dhcpd[733]: lease 10.{net}.{a}.{b} renewed for 7200 s to client {hex}",
    "dnsd[741]: {q} queries in 60 s, {s} from the cache, slowest {m} ms ({domain})",
    "fwd[690]: dropped tcp 10.{net}.{a}.{b}:{port} -> 185.199.108.{b}:443, rule default",
    "snmpd[655]: poll from 10.0.9.4, {s} objects in {m} ms",
    "sshd[{port}]: session opened for backup by key SHA256:{hex}{hex}",
    "qosd[702]: voice queue {s} % of 20 Mb/s, 0 drops, jitter {s} us",
    "flowd[711]: exported {q} flows to 10.0.9.17, template {m}",
)
DOMAINS = ("mail.example.net", "cdn.example.org", "login.example.com", "updates.example.net", "erp.internal.example", "xn--80ak6aa92e.example")


def source(name: str) -> str:
    """Return one of the files the conversation reads."""
    return (files("playhead.cli.demo") / "files" / name).read_text(encoding="utf-8")


def config(gateway: Gateway) -> str:
    """Return a gateway's configuration file."""
    about = {name: getattr(gateway, name) for name in ("host", "city", "mtu", "address", "firmware", "zone", "subnet", "jitter")}
    return source("gateway.conf").format(**about, mss=gateway.mtu - 113)


def _routine(gateway: Gateway, dice: Random) -> str:
    line = dice.choice(ROUTINE)
    return line.format(
        n=dice.randint(40, 44), s=dice.randint(1, 60), m=dice.randint(2, 480), p=dice.randint(4_000, 90_000), q=dice.randint(300, 9_000), a=dice.randint(0, 63),
        b=dice.randint(2, 250), net=gateway.subnet, port=dice.randint(1025, 64000), hex=f"{dice.getrandbits(48):012x}", domain=dice.choice(DOMAINS), peer=gateway.peer,
    )  # fmt: skip


def _collision(dice: Random) -> list[tuple[float, str]]:
    old, ours, theirs = (f"{dice.getrandbits(32):08x}" for _ in range(3))
    return [
        (0.0, f"ikevd[812]: corporate: rekey of spi {old} starts"),
        (0.041, f"ikevd[812]: corporate: rekey collision, spi {ours} and peer's {theirs}"),
        (0.043, f"ikevd[812]: corporate: outbound traffic of corporate uses spi {theirs}"),
        (0.044, f"ikevd[812]: corporate: deleting redundant spi {ours}"),
        (0.046, "kernel: xfrm: flushed 3 states for 198.51.100.7 mark 0x11"),
        (6.2, "kernel: xfrm: 512 packets dropped, no state for policy corporate"),
        (21.7, "kernel: xfrm: 4096 packets dropped, no state for policy corporate"),
        (34.3, "ikevd[812]: <site-hub|42> peer is silent for 34 s, reestablishing"),
        (35.1, "ikevd[812]: <site-hub|43> established with 198.51.100.7[4500], corporate and voice installed"),
    ]


def _clean_rekey(dice: Random) -> list[tuple[float, str]]:
    old, fresh = (f"{dice.getrandbits(32):08x}" for _ in range(2))
    return [
        (0.0, f"ikevd[812]: corporate: rekey of spi {old} starts"),
        (0.052, f"ikevd[812]: corporate: outbound traffic of corporate uses spi {fresh}"),
        (0.058, f"ikevd[812]: corporate: deleting spi {old}"),
    ]


def journal(gateway: Gateway, since: str, *, lines: int = 30) -> str:
    """Return log lines around one rekey: a collision that cuts the traffic, or a clean one."""
    dice = gateway.chance("journal", since, lines)
    start = gateway.at(since)
    rekey = gateway.rekey_after(start)
    events = _collision(dice) if not gateway.jitter else _clean_rekey(dice)
    told = [(rekey + timedelta(seconds=after), text) for after, text in events]
    quiet = [start + timedelta(seconds=dice.uniform(0, 3600)) for _ in range(lines - len(told))]
    told += [(at, _routine(gateway, dice)) for at in quiet]
    return "\n".join(f"{at.isoformat(timespec='milliseconds')} {gateway.host} {text}" for at, text in sorted(told))


def status(gateway: Gateway, *, age: int | None = None) -> str:
    """Return what `ikectl status --json` prints."""
    dice = gateway.chance("status", age)
    children = [
        {
            "name": name,
            "spi_in": f"{dice.getrandbits(32):08x}",
            "spi_out": f"{dice.getrandbits(32):08x}",
            "age_s": dice.randint(20, 3000) if age is None else age,
            "bytes_in": dice.randint(10**7, 10**10),
            "bytes_out": dice.randint(10**7, 10**10),
            "lifetime_s": 3600,
            "jitter_s": gateway.jitter,
        }
        for name in ("corporate", "voice")
    ]
    ike = {"peer": gateway.peer, "state": "established", "reestablished_24h": 0 if gateway.jitter else dice.randint(22, 24), "children": children}
    facts = {"host": gateway.host, "site": gateway.city, "firmware": gateway.firmware, "uptime_s": age + 3_600 if gateway.jitter and age else dice.randint(130_000, 140_000), "ike": [ike]}
    return json.dumps(facts, ensure_ascii=False, indent=1)


def states(gateway: Gateway) -> str:
    """Return what `ip -s xfrm state` prints for the two children."""
    dice = gateway.chance("states")
    blocks = []
    for name, mark in (("corporate", "0x11"), ("voice", "0x12")):
        for source_, target in ((gateway.address, gateway.peer), (gateway.peer, gateway.address)):
            blocks.append(
                f"src {source_} dst {target}\n"
                f"    proto esp spi 0x{dice.getrandbits(32):08x} reqid {dice.randint(1, 9)} mode tunnel  # {name}\n"
                f"    replay-window 128 seq 0x{dice.getrandbits(20):08x} flag af-unspec mark {mark}/0xff\n"
                f"    lifetime current: {dice.randint(10**6, 10**9)}(bytes), {dice.randint(10**4, 10**6)}(packets)\n"
                f"    stats: replay-window 0 replay {dice.randint(0, 3)} failed 0"
            )
    return "\n".join(blocks)


def ping(gateway: Gateway, size: int, *, target: str = "10.0.0.1") -> str:
    """Return what a ping of that size with the don't-fragment bit prints."""
    dice = gateway.chance("ping", size, target)
    head = f"PING {target} ({target}) {size}({size + 28}) bytes of data."
    if size + 28 + 73 > gateway.path_mtu:
        lost = f"From 10.{gateway.subnet}.0.1 icmp_seq={{}} Frag needed and DF set (mtu = {gateway.path_mtu - 73})"
        return "\n".join((head, *(lost.format(i + 1) for i in range(4)), "4 packets transmitted, 0 received, +4 errors, 100% packet loss"))
    base = dice.uniform(8, 190)
    times = [base + dice.uniform(0, 3) for _ in range(6)]
    answers = [f"{size + 8} bytes from {target}: icmp_seq={i + 1} ttl=62 time={t:.1f} ms" for i, t in enumerate(times)]
    return "\n".join((head, *answers, f"6 packets transmitted, 6 received, 0% packet loss, rtt min/avg/max = {min(times):.1f}/{sum(times) / 6:.1f}/{max(times):.1f} ms"))


def capture(gateway: Gateway, since: str, *, packets: int = 24) -> str:
    """Return a capture of the tunnel's outside around a collision: after the delete only one side still speaks."""
    dice = gateway.chance("capture", since)
    at = gateway.rekey_after(gateway.at(since))
    hub, out, back = f"{gateway.peer}.4500", f"{dice.getrandbits(32):08x}", f"{dice.getrandbits(32):08x}"
    lines = []
    for i in range(packets):
        at += timedelta(milliseconds=dice.randint(1, 40))
        if i == packets // 3:
            lines.append(f"{at:%H:%M:%S.%f} IP {gateway.address}.4500 > {hub}: UDP-encap: isakmp 2.0 msgid 0000002e: child_sa request [SA, No, TSi, TSr]")
            lines.append(f"{at:%H:%M:%S.%f} IP {hub} > {gateway.address}.4500: UDP-encap: isakmp 2.0 msgid 00000031: child_sa request [SA, No, TSi, TSr]")
        elif i < packets // 3:
            lines.append(f"{at:%H:%M:%S.%f} IP {gateway.address}.4500 > {hub}: UDP-encap: ESP(spi=0x{out},seq=0x{9000 + i:x}), length {dice.choice((104, 552, 1352))}")
        else:
            lines.append(f"{at:%H:%M:%S.%f} IP {hub} > {gateway.address}.4500: UDP-encap: ESP(spi=0x{back},seq=0x{i:x}), length {dice.choice((104, 136, 1352))}")
    return "\n".join(lines)


def tracked(gateway: Gateway) -> str:
    """Return what `conntrack -S` prints on the two processors."""
    dice = gateway.chance("tracked")
    return "\n".join(f"cpu={cpu} found={dice.randint(0, 40)} invalid={dice.randint(0, 900)} insert_failed=0 drop=0 early_drop=0 error=0 search_restart={dice.randint(0, 90)}" for cpu in range(2))


def counters(gateway: Gateway) -> str:
    """Return the error counters of the uplink that are of interest."""
    dice = gateway.chance("counters")
    names = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_crc_errors", "rx_missed_errors", "tx_aborted_errors", "rx_length_errors", "collisions")
    return "\n".join(f"     {name}: {dice.randint(10**8, 10**11) if 'packets' in name or 'bytes' in name else 0}" for name in names)


def mended(gateway: Gateway, version: str) -> Gateway:
    """Return a gateway as it is after the upgrade: it spreads its rekeys, the first comes just before the hour is over."""
    return replace(gateway, firmware=version, jitter=135, minute=58)


def history(gateway: Gateway) -> str:
    """Return what the hub remembers of a gateway's reconnects."""
    first = gateway.rekey_after(gateway.at("03-01 14:00"))
    times = [first + timedelta(seconds=3635 * i) for i in range(23)]
    return "\n".join(f"{at.isoformat()}  {gateway.address}:4500  reestablished by peer, previous IKE SA silent 34 s" for at in times)


def drops(gateway: Gateway) -> str:
    """Return the last drops the monitor saw at a site, as a table."""
    dice = gateway.chance("drops")
    first = gateway.rekey_after(gateway.at("03-02 04:00"))
    rows = [first + timedelta(seconds=3635 * i) for i in range(10)]
    return "\n".join((f"{gateway.host} ({gateway.city}): drops in the last 10 h", *(f"{at.isoformat()}  down {dice.randint(34, 36)} s  lost {dice.randint(400, 9000)} packets" for at in rows)))


def preflight(gateway: Gateway, *, flash: int) -> str:
    """Return what the upgrade tool checks before it touches a gateway."""
    dice = gateway.chance("preflight")
    rows = (
        ("image signature", "ok", "release key 2026-01"),
        ("flash", f"{flash} % free", "ok" if flash >= 30 else "TOO LITTLE, needs 30 %"),
        ("backup image", gateway.firmware, "bootable"),
        ("console server", f"battery {dice.randint(71, 100)} %", "reachable"),
        ("people online", str(dice.randint(0, gateway.clients // 4)), "quiet hours"),
        ("last backup", f"{dice.randint(1, 20)} h ago", "restored once in the lab"),
    )
    return "\n".join(f"{name:<18}{value:<16}{note}" for name, value, note in rows)


def upgrade(gateway: Gateway, version: str) -> str:
    """Return what the upgrade tool prints when all goes well."""
    dice = gateway.chance("upgrade", version)
    image = f"halden-{version}.img"
    seconds = 0
    steps = []
    for step in (f"copy {image} (41 MB)", "verify signature", "write slot B", "verify slot B", "mark slot B for one boot", "reboot", "wait for ssh", "wait for site-hub", "confirm slot B"):
        seconds += dice.randint(1, 38)
        steps.append(f"[{seconds // 60:02d}:{seconds % 60:02d}] {gateway.host}: {step} ... ok")
    return "\n".join((*steps, f"{gateway.host} runs {version} since {seconds} s, config digest {dice.getrandbits(64):016x} unchanged"))
