/* test_rekey.c - two ikevd instances in one process, a fake kernel, a fake clock */
#include "test.h"
#include "pair.h"

TEST(rekey_replaces_the_sa_before_its_lifetime)
{
    struct pair *p = pair_up(.lifetime = 3600);

    pair_run_until(p, 3600 + 1);
    CHECK_EQ(pair_generation(p), 2);
    CHECK_EQ(pair_lost_packets(p), 0);
}

TEST(rekey_retries_when_the_peer_does_not_answer)
{
    struct pair *p = pair_up(.lifetime = 3600, .drop_requests = 2);

    pair_run_until(p, 3600 + 25);
    CHECK_EQ(pair_generation(p), 2);
    CHECK_EQ(p->left.tries, 3);
}

TEST(collision_keeps_exactly_one_sa)
{
    struct pair *p = pair_up(.lifetime = 3600, .both_start = true);

    pair_run_until(p, 3600 + 5);
    CHECK_EQ(sa_table_count(&p->left), 1);
    CHECK_EQ(sa_table_count(&p->right), 1);
}

TEST(old_sa_is_deleted_by_whoever_started_the_survivor)
{
    struct pair *p = pair_up(.lifetime = 3600, .both_start = true, .lowest_nonce = LEFT);

    pair_run_until(p, 3600 + 5);
    CHECK_EQ(p->right.deletes_sent, 1);
    CHECK_EQ(p->left.deletes_sent, 1);
}
