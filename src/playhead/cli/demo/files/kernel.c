/*
 * kernel.c - the part of ikevd that speaks netlink
 */
#include "ikev.h"
#include "kernel.h"

int kernel_add_state(const struct child_sa *sa)
{
    struct xfrm_request rq = xfrm_begin(XFRM_MSG_NEWSA);

    xfrm_put_spi(&rq, sa->spi_in, sa->ike->peer);
    xfrm_put_keys(&rq, sa->keys);
    xfrm_put_replay(&rq, sa->policy->replay_window);
    xfrm_put_mark(&rq, sa->policy->id, sa->born);
    return xfrm_send(&rq);
}

/* Drop one state. Needs the SPI of each direction, so a caller sends two. */
int kernel_drop_state(uint32_t spi, const struct address *peer)
{
    struct xfrm_request rq = xfrm_begin(XFRM_MSG_DELSA);

    xfrm_put_spi(&rq, spi, peer);
    return xfrm_send(&rq);
}

/*
 * Drop every state of a peer's policy that was born in the same second or before.
 * `born` has a resolution of one second.
 */
int kernel_flush_states(const struct address *peer, uint32_t policy_id, uint32_t born)
{
    struct xfrm_request rq = xfrm_begin(XFRM_MSG_FLUSHSA);

    xfrm_put_peer(&rq, peer);
    xfrm_put_mark(&rq, policy_id, born);
    return xfrm_send(&rq);
}

int kernel_update_policy(const struct policy *policy, uint32_t spi_out)
{
    struct xfrm_request rq = xfrm_begin(XFRM_MSG_UPDPOLICY);

    xfrm_put_selector(&rq, policy->local, policy->remote);
    xfrm_put_template(&rq, spi_out, XFRM_MODE_TUNNEL);
    return xfrm_send(&rq);
}
