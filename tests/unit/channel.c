#include "config.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "channel.h"
#include "pack.h"
#include "unit.h"

struct link {
	struct event_base	*base;
	struct channel		*ch;
	int			 peer;
	int			 closed;
};

static void
on_frame(struct channel *ch, const struct frame *f, void *arg)
{
	fail_msg("a frame of type %d", f->type);
}

static void
on_closed(struct channel *ch, const char *why, void *arg)
{
	struct link *l = arg;

	assert_null(why);
	l->closed = 1;
}

static const struct channel_observer observer = { on_frame, on_closed };

static int
set_up(void **state)
{
	static struct link l;
	int pair[2];

	memset(&l, 0, sizeof l);
	l.base = event_base_new();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    pair), 0);
	l.ch = channel_new(l.base, pair[0], &observer, &l);
	l.peer = pair[1];
	*state = &l;
	return 0;
}

static int
tear_down(void **state)
{
	struct link *l = *state;

	channel_free(&l->ch);
	if (l->peer != -1)
		close(l->peer);
	event_base_free(l->base);
	return 0;
}

/* What is sent needs to be no frame: only the peer would look into it. */
static void
send_bytes(struct link *l)
{
	struct writer w;

	wr_init(&w);
	wr_bin(&w, (struct slice){ "hello", 5 });
	channel_send(l->ch, &w);
}

static void
close_peer(struct link *l)
{
	close(l->peer);
	l->peer = -1;
}

static void
expect_closed(struct link *l)
{
	channel_drain(l->ch);
	assert_true(l->closed);
}

static void
test_read(void **state)
{
	struct link *l = *state;
	char got[64];

	send_bytes(l);
	assert_true(channel_all_sent(l->ch));
	assert_false(channel_all_read(l->ch));
	assert_int_equal(read(l->peer, got, 3), 3);
	assert_false(channel_all_read(l->ch));
	assert_true(read(l->peer, got, sizeof got) > 0);
	assert_true(channel_all_read(l->ch));
	close_peer(l);
	expect_closed(l);
	assert_true(channel_all_read(l->ch));
}

static void
test_left_unread(void **state)
{
	struct link *l = *state;

	send_bytes(l);
	close_peer(l);
	expect_closed(l);
	assert_true(channel_all_sent(l->ch));
	assert_false(channel_all_read(l->ch));
}

static void
test_sent_after_the_end(void **state)
{
	struct link *l = *state;

	close_peer(l);
	send_bytes(l);
	expect_closed(l);
	assert_false(channel_all_sent(l->ch));
	assert_false(channel_all_read(l->ch));
}

static void
test_sent_after_the_end_was_seen(void **state)
{
	struct link *l = *state;

	close_peer(l);
	expect_closed(l);
	assert_true(channel_all_read(l->ch));
	send_bytes(l);
	assert_false(channel_all_sent(l->ch));
	assert_false(channel_all_read(l->ch));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_left_unread, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_sent_after_the_end,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    test_sent_after_the_end_was_seen, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
