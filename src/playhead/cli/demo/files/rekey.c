/*
 * rekey.c - replace a child SA before its lifetime ends
 *
 * Both ends of a tunnel may decide to rekey at the same moment. RFC 7296, 2.8.1
 * describes what must happen then: of the two new SAs, the one that was created
 * with the lowest of the four nonces is redundant and is closed by the end that
 * created it. The old SA is deleted by whoever initiated the surviving exchange.
 */
#include "ikev.h"
#include "rekey.h"
#include "sa_table.h"
#include "timer.h"

#define REKEY_MARGIN     540   /* the hard lifetime ends this much later */
#define REKEY_RETRY       10
#define REKEY_MAX_TRIES    5

struct rekey {
    struct child_sa *old;      /* the SA to replace, refcounted */
    struct child_sa *ours;     /* new SA from the exchange we started */
    struct child_sa *theirs;   /* new SA from the exchange the peer started */
    struct nonce     lowest;   /* lowest nonce seen in either exchange */
    uint8_t          tries;
    bool             collided;
};

/* When to start. 4.1 spread this by up to a quarter of the margin, 135 s; 4.2 reads it
 * from the policy so that audits can predict the moment (FW-2210). */
static uint32_t rekey_after(const struct policy *p)
{
    return p->lifetime - p->jitter;
}

int rekey_schedule(struct child_sa *sa)
{
    if (sa->policy->jitter + REKEY_MARGIN >= sa->policy->lifetime)
        return ikev_err(sa, "lifetime %u s leaves no room to rekey", sa->policy->lifetime);
    child_sa_expire_at(sa, sa->born + sa->policy->lifetime + REKEY_MARGIN);
    return timer_at(&sa->rekey_timer, sa->born + rekey_after(sa->policy), rekey_start, sa);
}

void rekey_start(void *arg)
{
    struct child_sa *sa = arg;
    struct rekey *rk = rekey_of(sa);

    if (rk->tries++ >= REKEY_MAX_TRIES) {
        ikev_log(sa, "giving up after %d tries, peer will see the hard lifetime", rk->tries - 1);
        return;
    }
    rk->old = child_sa_ref(sa);
    if (exchange_create_child(sa->ike, sa->policy, sa->spi_in, rekey_done, rk) < 0)
        timer_in(&sa->rekey_timer, REKEY_RETRY, rekey_start, sa);
}

/* The peer rekeyed first or at the same time. */
int rekey_peer(struct child_sa *sa, struct child_sa *fresh, const struct nonce *theirs)
{
    struct rekey *rk = rekey_of(sa);

    rk->theirs = child_sa_ref(fresh);
    if (rk->old != NULL) {
        rk->collided = true;
        nonce_keep_lowest(&rk->lowest, theirs);
        ikev_log(sa, "rekey collision, spi %08x and peer's %08x", rk->ours ? rk->ours->spi_in : 0, fresh->spi_in);
    }
    sa_table_insert(fresh);
    return 0;
}

/* Our own exchange ended. */
void rekey_done(struct exchange *ex, struct child_sa *fresh, void *arg)
{
    struct rekey *rk = arg;

    if (fresh == NULL) {
        rekey_retry(rk, ex->error);
        return;
    }
    rk->ours = child_sa_ref(fresh);
    sa_table_insert(fresh);
    nonce_keep_lowest(&rk->lowest, &ex->ni);
    nonce_keep_lowest(&rk->lowest, &ex->nr);

    if (rk->collided)
        rekey_resolve(rk);
    else
        sa_delete(rk->old, SA_DELETE_NOTIFY);
    rekey_release(rk);
}

/* Two new SAs exist: close the redundant one. */
static void rekey_resolve(struct rekey *rk)
{
    bool ours_is_redundant = exchange_has_nonce(rk->ours->exchange, &rk->lowest);
    struct child_sa *redundant = ours_is_redundant ? rk->ours : rk->theirs;
    struct child_sa *keep = ours_is_redundant ? rk->theirs : rk->ours;

    sa_delete(redundant, SA_DELETE_NOTIFY);
    sa_table_set_outbound(rk->old->policy, keep);
    if (!ours_is_redundant)
        sa_delete(rk->old, SA_DELETE_NOTIFY);
}

void rekey_retry(struct rekey *rk, int error)
{
    ikev_log(rk->old, "rekey failed (%s), try %u of %u", ikev_strerror(error), rk->tries, REKEY_MAX_TRIES);
    timer_in(&rk->old->rekey_timer, REKEY_RETRY, rekey_start, rk->old);
}
