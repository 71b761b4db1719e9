/*
 * dpd.c - notice that the peer has gone, RFC 7296 section 2.4
 */
#include "ikev.h"
#include "dpd.h"
#include "timer.h"

static const uint32_t retransmit_after[] = { 2, 4, 7, 9, 12 };   /* 34 s in total */

void dpd_arm(struct ike_sa *ike)
{
    timer_in(&ike->dpd_timer, ike->config->dpd_delay, dpd_probe, ike);
}

void dpd_traffic_seen(struct ike_sa *ike)
{
    ike->silent_since = 0;
    ike->dpd_try = 0;
}

void dpd_probe(void *arg)
{
    struct ike_sa *ike = arg;
    uint64_t now = clock_seconds();

    if (kernel_last_use(ike) + ike->config->dpd_delay > now) {
        dpd_arm(ike);
        return;
    }
    if (ike->dpd_try == ARRAY_LEN(retransmit_after)) {
        ikev_log_ike(ike, "peer is silent for %llu s, reestablishing", (unsigned long long)(now - ike->silent_since));
        ike_reestablish(ike);
        return;
    }
    if (ike->silent_since == 0)
        ike->silent_since = now;
    exchange_send_informational(ike, NULL, 0);
    timer_in(&ike->dpd_timer, retransmit_after[ike->dpd_try++], dpd_probe, ike);
}
