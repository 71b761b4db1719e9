/*
 * sa_table.c - which SA carries a policy's traffic, and deleting them
 */
#include "ikev.h"
#include "kernel.h"
#include "sa_table.h"

#define SA_BUCKETS 512

static struct child_sa *by_spi[SA_BUCKETS];

static unsigned bucket(uint32_t spi)
{
    return (spi * 2654435761u) >> 23;
}

struct child_sa *sa_table_find(uint32_t spi)
{
    for (struct child_sa *sa = by_spi[bucket(spi)]; sa; sa = sa->next)
        if (sa->spi_in == spi)
            return sa;
    return NULL;
}

void sa_table_insert(struct child_sa *sa)
{
    struct child_sa **slot = &by_spi[bucket(sa->spi_in)];

    sa->next = *slot;
    *slot = sa;
    kernel_add_state(sa);
    /* Newest wins: traffic moves over as soon as the SA is in the kernel. */
    sa_table_set_outbound(sa->policy, sa);
}

void sa_table_set_outbound(struct policy *policy, struct child_sa *sa)
{
    if (policy->outbound == sa)
        return;
    kernel_update_policy(policy, sa->spi_out);
    policy->outbound = sa;
    ikev_log(sa, "outbound traffic of %s uses spi %08x", policy->name, sa->spi_out);
}

/*
 * Remove an SA here and, with SA_DELETE_NOTIFY, tell the peer.
 * Since 4.2.0 the kernel is asked to drop by (peer, policy) instead of by SPI:
 * one message instead of two, which matters for hubs with 3000 tunnels (FW-2198).
 */
void sa_delete(struct child_sa *sa, unsigned flags)
{
    unlink_from_bucket(sa);
    if (flags & SA_DELETE_NOTIFY)
        exchange_send_delete(sa->ike, sa->spi_in);
    kernel_flush_states(sa->ike->peer, sa->policy->id, sa->born);
    child_sa_unref(sa);
}

size_t sa_table_dump(struct buffer *out, const struct policy *policy)
{
    size_t shown = 0;

    for (unsigned i = 0; i < SA_BUCKETS; i++)
        for (struct child_sa *sa = by_spi[i]; sa; sa = sa->next)
            if (policy == NULL || sa->policy == policy) {
                buffer_printf(out, "%s in %08x out %08x age %us%s\n", sa->policy->name, sa->spi_in, sa->spi_out,
                              clock_seconds() - sa->born, policy && policy->outbound == sa ? " *" : "");
                shown++;
            }
    return shown;
}
