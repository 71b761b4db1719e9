"""Monday night: the fix, its tests, and a build."""

from __future__ import annotations

from collections.abc import Iterator

from playhead.cli.demo import fleet
from playhead.cli.demo.fleet import FLEET
from playhead.cli.demo.turns import Desk, failed, read_file, run, search, ticket
from playhead.entry.entry import TapeEntry
from playhead.entry.message import Message, assistant, user

LAB = FLEET[11]
SUBJECTS = (
    ("b3f7a20", "2025-11-27", "timer: one wheel for all SAs", "good"),
    ("77a0c4e", "2025-12-19", "exchange: retransmit with the same message id", "bad"),
    ("e07b91f", "2025-12-11", "sa_table: flush by peer and policy, one message instead of two (FW-2198)", "bad"),
    ("c95d310", "2025-12-08", "log: spi in hex everywhere", "good"),
    ("1f20bd6", "2025-12-10", "kernel: mark states with policy and birth", "good"),
)

FIX = """\
diff --git a/ikevd/sa_table.c b/ikevd/sa_table.c
--- a/ikevd/sa_table.c
+++ b/ikevd/sa_table.c
@@ -48,17 +48,21 @@
 /*
  * Remove an SA here and, with SA_DELETE_NOTIFY, tell the peer.
- * Since 4.2.0 the kernel is asked to drop by (peer, policy) instead of by SPI:
- * one message instead of two, which matters for hubs with 3000 tunnels (FW-2198).
+ * The kernel is asked by SPI, never by time of birth: after a collision the
+ * survivor is as old as the redundant SA. Only a peer that goes as a whole is
+ * flushed (sa_delete_peer), where nothing may survive.
  */
 void sa_delete(struct child_sa *sa, unsigned flags)
 {
     unlink_from_bucket(sa);
     if (flags & SA_DELETE_NOTIFY)
         exchange_send_delete(sa->ike, sa->spi_in);
-    kernel_flush_states(sa->ike->peer, sa->policy->id, sa->born);
+    kernel_drop_state(sa->spi_in, sa->ike->peer);
+    kernel_drop_state(sa->spi_out, sa->ike->peer);
     child_sa_unref(sa);
 }
diff --git a/ikevd/rekey.c b/ikevd/rekey.c
--- a/ikevd/rekey.c
+++ b/ikevd/rekey.c
@@ -30,5 +30,8 @@
 static uint32_t rekey_after(const struct policy *p)
 {
-    return p->lifetime - p->jitter;
+    /* Two ends with the same policy must not start in the same second. */
+    uint32_t spread = p->jitter ? p->jitter : REKEY_MARGIN / 4;
+
+    return p->lifetime - chance_below(spread);
 }
"""

TEST = """\
TEST(survivor_of_a_collision_stays_in_the_kernel)
{
    struct pair *p = pair_up(.lifetime = 3600, .both_start = true);

    pair_run_until(p, 3600 + 5);
    CHECK(kernel_has_state(&p->left.kernel, p->left.policy->outbound->spi_out));
    CHECK(kernel_has_state(&p->right.kernel, p->right.policy->outbound->spi_out));
    CHECK_EQ(pair_lost_packets(p), 0);
}
"""


def told(desk: Desk) -> Iterator[Message | TapeEntry]:
    """Yield the night shift's work on the firmware."""
    yield user("Tomáš here, I take over. I own rekey.c, sorry about that. Read me the tests, I want to know why they were green.", name="Tomáš")
    yield from desk.turn("The tests of the rekey:", read_file("firmware/ikevd/tests/test_rekey.c", fleet.source("test_rekey.c")))
    yield assistant(
        "`collision_keeps_exactly_one_sa` counts the SAs in ikevd's own table, and there the survivor does stay. The states the kernel holds are never asked. "
        "`pair_lost_packets` would have shown it, but it is only checked in the test without a collision."
    )
    yield user("And the fake kernel?", name="Tomáš")
    yield from desk.turn(
        "Looking at how it treats a flush.",
        run("build-2", "grep -n -A7 'fake_flush' firmware/ikevd/tests/pair.c", _fake_flush()),
    )
    yield assistant(
        "As feared: `fake_flush` matches by SPI, because it was written before FW-2198 and only its signature was adapted. The fake is kinder than the real kernel. Both need mending: the fake first, so that the test can fail."
    )
    yield user("Do that first. And bisect, I want to be sure it's FW-2198 and not my jitter change.", name="Tomáš")
    yield from desk.turn("The fake kernel now flushes as the real one does; the suite against unchanged sources:", failed("build-2", "make -C firmware/ikevd test", _suite(failing=True)))
    yield assistant("Good, red: two tests fail now, for the reason we expect. Bisecting between 4.1.9 and 4.2.1 with that test.")
    for commit, date, subject, verdict in SUBJECTS:
        yield from desk.turn(
            f"Testing {commit}.",
            run("build-2", f"git checkout -q {commit} && make -C firmware/ikevd test T=survivor_of_a_collision", _bisect_step(commit, date, subject, verdict)),
        )
    yield assistant("The first bad commit is e07b91f (FW-2198). 5d1c0ae, your jitter change, came a month later: it turned a rare outage into an hourly one, but the outage was already in.")
    yield user("OK. I'd go back to dropping by SPI in sa_delete and keep the flush for whole peers. And default jitter back to margin/4, drawn at random. Make the patch.", name="Tomáš")
    yield from desk.turn("The patch and the new test:", run("build-2", "git apply --stat --check fix.patch && cat fix.patch", FIX), run("build-2", "cat firmware/ikevd/tests/new.c", TEST))
    yield from desk.turn("Building and testing.", failed("build-2", "make -C firmware/ikevd && make -C firmware/ikevd test", fleet.source("compiler.txt")))
    yield assistant("`chance_below` lives in chance.h, which rekey.c does not include. My mistake.")
    yield from desk.turn("Once more, with the include.", run("build-2", "make -C firmware/ikevd && make -C firmware/ikevd test", _suite(failing=False)))
    yield user("What does FW-2198 cost us now? The hub people will ask.", name="Tomáš")
    yield from desk.turn(
        "Measured on a hub image with 3000 tunnels, a failover with each of the three builds, five times each.",
        run("lab-hub", "bench failover --tunnels 3000 --builds 4.1.9,4.2.1,4.2.2-rc1 --repeat 5", _failover()),
    )
    yield assistant(
        "A failover of 3000 tunnels: 4.1.9 took 412 ms in the median, 4.2.1 takes 239 ms, the fix takes 244 ms, because a failover deletes whole peers and those are still flushed in one message. "
        "What got slower is only the delete of a single SA: two messages, about 60 µs. FW-2198 keeps what it was made for."
    )
    yield user("Beautiful. Does the fix hold in the lab over night?", name="Tomáš")
    yield from desk.turn(
        "The lab has power again. 200 lifetimes, collisions forced in every second one, traffic at 500 packets per second.",
        run("lab-1", "lab soak --firmware 4.2.2-rc1 --rekeys 200 --force-collisions 50%", _soak()),
    )
    yield TapeEntry.error(RuntimeError("tool gateway restarted while streaming, output complete"), tool="run")
    yield assistant("200 rekeys, 100 forced collisions, 0 packets lost, the number of states never above four. Before the fix the first collision would have cost 17,000 packets.")
    yield from desk.turn(
        "Putting all of it where it belongs.",
        ticket(
            "create", "FW-2240", title="sa_delete flushes the survivor of a rekey collision", severity="high", found_in="4.2.0", fixed_in="4.2.2", commit="e07b91f", review=["l.oyelaran", "t.havranek"]
        ),
        ticket("comment", "INC-48213", text="Fix in review as FW-2240, 200 rekeys in the lab without loss. Proposed: workaround jitter tonight, firmware from Tuesday in waves."),
        search(
            "release checklist",
            {"title": "Release checklist of Halden OS", "url": "wiki/firmware/release", "text": "Two reviews, soak of 12 h, signature by two people, canary for one full lifetime."},
            where="wiki",
        ),
    )
    yield user("Reviews are in (Lola is awake after all), image is signed as 4.2.2. Roll-out tomorrow from 06:00, Mira will drive. Good night and thanks 🙏", name="Tomáš")
    yield assistant("Good night. The image 4.2.2 is in the repository, its digest is in FW-2240, and I leave the order of the waves for Mira to decide.")


def _fake_flush() -> str:
    lines = (
        "static int fake_flush(struct fake_kernel *k, const struct address *peer, uint32_t policy, uint32_t born)",
        "{",
        "    for (size_t i = 0; i < k->count; i++)",
        "        if (k->states[i].spi == k->last_spi && address_equal(k->states[i].peer, peer))",
        "            return fake_drop(k, i--);",
        "    return 0;",
        "}",
    )
    return "\n".join(f"{141 + i}:{line}" for i, line in enumerate(lines))


SUITE = (
    (
        "test_rekey",
        "rekey_replaces_the_sa_before_its_lifetime rekey_retries_when_the_peer_does_not_answer collision_keeps_exactly_one_sa old_sa_is_deleted_by_whoever_started_the_survivor survivor_of_a_collision_stays_in_the_kernel",
    ),
    ("test_sa_table", "insert_moves_traffic_over find_by_spi_after_512_inserts delete_tells_the_peer_once dump_marks_the_outbound_sa delete_of_one_leaves_its_twin"),
    ("test_dpd", "silence_is_noticed_after_34_s traffic_resets_the_tries probe_waits_while_packets_arrive reestablish_is_asked_once"),
    ("test_exchange", "retransmit_uses_the_same_message_id window_of_one_is_kept cookie_is_returned fragment_13_of_13_completes no_proposal_chosen_is_logged"),
    ("test_timer", "wheel_turns_once_per_second timers_fire_in_order cancelled_timer_is_silent clock_set_back_fires_nothing_twice"),
    ("test_policy", "lifetime_below_margin_is_refused jitter_is_read_in_seconds selector_overlap_is_reported voice_wins_over_corporate"),
)


def _suite(*, failing: bool) -> str:
    dice = LAB.chance("suite", failing)
    red = {"survivor_of_a_collision_stays_in_the_kernel", "delete_of_one_leaves_its_twin"} if failing else set()
    rows, count = [], 0
    for file, names in SUITE:
        for name in names.split():
            count += 1
            rows.append(f"{'FAIL' if name in red else 'ok  '} {file}.{name} ({dice.randint(1, 180)} ms)")
            if name in red:
                rows.append(f"     {file}.c:{dice.randint(60, 140)}: kernel_has_state(...) is false; 8704 packets lost in 34.0 s")
    return "\n".join((*rows, f"{count} tests, {len(red)} failed"))


def _bisect_step(commit: str, date: str, subject: str, verdict: str) -> str:
    dice = LAB.chance("bisect", commit)
    detail = "FAIL test_rekey.survivor_of_a_collision_stays_in_the_kernel: 8704 packets lost" if verdict == "bad" else "ok   test_rekey.survivor_of_a_collision_stays_in_the_kernel"
    return "\n".join((f"HEAD is now at {commit} {subject} ({date})", f"  CC {dice.randint(31, 44)} files, {dice.randint(4, 9)}.{dice.randint(0, 9)} s", detail, f"bisect: {commit} is {verdict}"))


def _failover() -> str:
    dice = LAB.chance("failover")
    rows = ["build       run  deletes  netlink messages  time ms"]
    for build, messages, middle in (("4.1.9", 6000, 412), ("4.2.1", 3000, 239), ("4.2.2-rc1", 3004, 244)):
        rows += [f"{build:<10}  {i + 1:>3}     3000  {messages:>16}  {middle + dice.randint(-9, 14) * (i > 0):>7}" for i in range(5)]
    return "\n".join(rows)


def _soak() -> str:
    dice = LAB.chance("soak")
    rows = ["rekeys  collisions  states max  lost  cpu %  rss kB"]
    rows += [f"{i * 10:>6}  {i * 5:>10}  {dice.choice((3, 4)):>10}  {0:>4}  {dice.uniform(0.4, 1.3):>5.1f}  {dice.randint(6100, 6180):>6}" for i in range(1, 21)]
    return "\n".join((*rows, "soak finished: 200 rekeys, 100 collisions, 0 packets lost, 0 states left behind"))
