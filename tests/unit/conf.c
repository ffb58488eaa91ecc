/* The configuration: what is taken, what is refused, and with which words. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addr.h"
#include "conf.h"
#include "mem.h"
#include "unit.h"

static char file[64];

/* What a build's own default may lack is left out of these tests. */
#define SYSTEM	"python.env=system"

static void
write_file(const char *text)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static struct conf *
load(const char *text, const char *override, char **why)
{
	const char *overrides[] = { SYSTEM, override, NULL };

	if (text != NULL)
		write_file(text);
	return conf_load(text == NULL ? NULL : file, overrides, why);
}

static void
test_defaults(void **state)
{
	char *why;
	struct conf *c = load(NULL, NULL, &why);

	if (c == NULL)
		fail_msg("%s", why);
	assert_string_equal(c->listen_unix, "");
	assert_int_equal(c->pool_warm, 4);
	assert_int_equal(c->message_max, 16 * 1024 * 1024);
	assert_int_equal(c->limits_timeout, 5000);
	assert_string_equal(c->python_env, "");
	assert_non_null(strstr(c->zygote_path, "/adder-zygote"));
	assert_null(why);
	conf_unref(&c);
	assert_null(c);
}

static void
test_order(void **state)
{
	char *why;
	struct conf *c = load("pool.warm = 2\npool.max = 3\npool.max = 5\n",
	    "pool.warm=7", &why);

	assert_non_null(c);
	assert_int_equal(c->pool_warm, 7);
	assert_int_equal(c->pool_max, 5);
	assert_int_equal(c->queue_max, 256);
	conf_unref(&c);
}

static void
test_syntax(void **state)
{
	char *why;
	struct conf *c = load(
	    "# a comment with \"quotes\n"
	    "  listen.tcp = \"127.0.0.1:0,[::1]:7000\"  # and another\n"
	    "/* of\n several */ limits.memory=1g\n"
	    "// pool.warm = 9\n"
	    "listen.unix = '/run/a#b//c'\n"
	    "\tlimits.timeout = 250ms", NULL, &why);

	if (c == NULL)
		fail_msg("%s", why);
	assert_string_equal(c->listen_tcp, "127.0.0.1:0,[::1]:7000");
	assert_string_equal(c->listen_unix, "/run/a#b//c");
	assert_int_equal(c->limits_memory, 1 << 30);
	assert_int_equal(c->limits_timeout, 250);
	assert_int_equal(c->pool_warm, 4);
	conf_unref(&c);
}

/* Each is refused as a whole, with a sentence that has these parts. */
static void
test_errors(void **state)
{
	static const struct {
		const char	*text;		/* of the file, or NULL */
		const char	*override;
		const char	*parts[3];
	} cases[] = {
		{ "# one\n# two\npool.warm = 0\n", NULL,
		    { ":3: pool.warm is \"0\"", "from 1 to 4096" } },
		{ "pool.max = 1 # x\n/* a\nb */\npool.warm = -3\n", NULL,
		    { ":4: pool.warm is \"-3\"" } },
		{ "\n\npool.wram = 1\n", NULL,
		    { ":3:", "pool.wram", "adderd -T" } },
		{ "pool.warm 1\n", NULL, { ":1:", "pool.warm" } },
		{ "pool.warm = \n", NULL, { "missing" } },
		{ "listen.tcp = 127.0.0.1:1,::1\n", NULL,
		    { ":1:", "double quotes" } },
		{ "listen.unix = \"abc\n", NULL, { "closing quote" } },
		{ "pool.warm = { 1 }\n", NULL, { ":1:" } },
		{ "pool { warm = 1 }\n", NULL, { ":1:" } },
		{ "pool.warm = 3x\n", NULL, { "\"3x\"", "whole number" } },
		{ "pool.max = 3\n# a\n/* b\nc */ /* d\npool.warm = 2\n", NULL,
		    { ":4: the comment that begins here has no end" } },
		{ "message.max = 1k\n", NULL,
		    { "\"1k\"", "from 64k to 64m" } },
		{ "limits.timeout = 2d\n", NULL, { "\"2d\"", "to 1d" } },
		{ "limits.timeout = soon\n", NULL, { "250ms or 5s" } },
		{ "log.level = loud\n", NULL, { "\"loud\"", "debug" } },
		{ "listen.unix_mode = 0888\n", NULL, { "0660" } },
		{ "listen.unix_mode = 7777\n", NULL, { "0660" } },
		{ "listen.tcp = \"localhost\"\n", NULL,
		    { "port must be a number" } },
		{ "python.modules = \"os; import x\"\n", NULL,
		    { "module names" } },
		{ "listen.unix = \"a\\nb\"\n", NULL,
		    { "\"a?b\"", "control characters" } },
		{ NULL, "pool.warm=many", { "-o: pool.warm is \"many\"" } },
		{ NULL, "pool.warm", { "-o:", "key=value" } },
		{ NULL, "=1", { "-o: there is no key \"\"" } },
		{ NULL, "nope=1", { "-o: there is no key \"nope\"" } },
		{ NULL, "limits.timeout=90s",
		    { "\"90s\"", "limits.timeout_max, which is 1m" } },
		{ NULL, "zygote.path=/dev/null", { "zygote.path is" } },
		{ NULL, "python.env=/", { "pyvenv.cfg" } },
		{ NULL, "scratch.dir=/nonexistent", { "no such directory" } },
		{ NULL, "zygote.warm_file=/", { "no such file" } }
	};
	struct conf *c;
	size_t i, n;
	char *why;

	for (i = 0; i < NITEMS(cases); i++) {
		c = load(cases[i].text, cases[i].override, &why);
		if (c != NULL || why == NULL)
			fail_msg("case %zu was taken", i);
		for (n = 0; n < 3 && cases[i].parts[n] != NULL; n++)
			if (strstr(why, cases[i].parts[n]) == NULL)
				fail_msg("case %zu says: %s", i, why);
		/* One line, and it names the file. */
		assert_null(strchr(why, '\n'));
		if (cases[i].text != NULL)
			assert_int_equal(strncmp(why, file, strlen(file)), 0);
		free(why);
	}
}

static void
test_no_file(void **state)
{
	static const char *const paths[] = { "/nonexistent/x", "/" };
	char *why;
	size_t i;

	for (i = 0; i < NITEMS(paths); i++) {
		assert_null(conf_load(paths[i], NULL, &why));
		assert_non_null(strstr(why, paths[i]));
		free(why);
	}
	/* A file of zeros is no text. */
	write_file("");
	assert_int_equal(truncate(file, 100), 0);
	assert_null(conf_load(file, NULL, &why));
	assert_non_null(strstr(why, "not a text file"));
	free(why);
}

/* Random bytes are refused or taken, and never more than that. */
static void
test_random_files(void **state)
{
	static const char words[] = "pool.warm=\"'{}#/*\\\n\t $,()+-0123456789";
	uint32_t seed = 5;
	char text[80], *why;
	struct conf *c;
	size_t i, n;

	for (i = 0; i < 3000; i++) {
		for (n = 0; n < sizeof text - 1; n++)
			text[n] = i % 4 == 0 ?
			    (char)(1 + unit_random(&seed) % 255) :
			    words[unit_random(&seed) % (sizeof words - 1)];
		text[n] = '\0';
		c = load(text, NULL, &why);
		assert_true((c == NULL) == (why != NULL));
		free(why);
		conf_unref(&c);
	}
}

static char *
dump(const struct conf *c)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	conf_dump(c, f);
	fclose(f);
	return text;
}

/* What -T prints is the same configuration when it is read. */
static void
test_dump(void **state)
{
	static const char *const overrides[] = { "pool.warm=3",
	    "listen.unix=/a \"b\" \\c ${HOME} $x 'y' #z {}",
	    "listen.tcp=1,2", "limits.memory=1000", "limits.timeout=1",
	    "scratch.dir=/", SYSTEM, NULL };
	char *why, *first, *second;
	struct conf *c = conf_load(NULL, overrides, &why);
	const char *const none[] = { "zygote.path=@default", NULL };

	if (c == NULL)
		fail_msg("%s", why);
	first = dump(c);
	write_file(first);
	conf_unref(&c);
	/* There need not be a zygote where the default points. */
	c = conf_load(file, none, &why);
	if (c == NULL && strstr(why, "zygote.path") == NULL)
		fail_msg("%s", why);
	free(why);
	if (c != NULL) {
		assert_string_equal(c->listen_unix,
		    "/a \"b\" \\c ${HOME} $x 'y' #z {}");
		second = dump(c);
		assert_string_equal(first, second);
		free(second);
	}
	free(first);
	conf_unref(&c);
}

/* The sample changes nothing, with its lines commented out and without. */
static void
test_sample(void **state)
{
	char *text, *p, *why, *sampled, *plain;
	struct conf *c;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	conf_sample(f);
	fclose(f);
	c = load(NULL, NULL, &why);
	plain = dump(c);
	conf_unref(&c);
	c = load(text, NULL, &why);
	if (c == NULL)
		fail_msg("%s", why);
	sampled = dump(c);
	assert_string_equal(sampled, plain);
	free(sampled);
	conf_unref(&c);
	for (p = text; (p = strstr(p, "\n#")) != NULL; p++)
		if (p[2] != ' ')
			p[1] = ' ';
	c = load(text, NULL, &why);
	if (c == NULL)
		fail_msg("%s", why);
	sampled = dump(c);
	assert_string_equal(sampled, plain);
	free(sampled);
	free(plain);
	free(text);
	conf_unref(&c);
}

static void
test_bounds(void **state)
{
	char *why;
	struct conf *c = load(NULL, "limits.timeout_max=2s", &why);

	/* A default gives way to a bound that somebody wrote. */
	assert_non_null(c);
	assert_int_equal(c->limits_timeout, 2000);
	conf_unref(&c);
}

static void
test_references(void **state)
{
	char *why;
	struct conf *a = load(NULL, "listen.tcp=1", &why);
	struct conf *b = load(NULL, "pool.warm=9", &why), *again;

	assert_int_equal(conf_check_reload(a, b, &why), -1);
	assert_string_equal(why, "listen.tcp was \"1\" at the start and is "
	    "\"\" now, which only a restart applies");
	free(why);
	conf_unref(&b);
	b = load("pool.warm = 9\n", "listen.tcp=1", &why);
	assert_int_equal(conf_check_reload(a, b, &why), 0);
	assert_null(why);
	again = conf_ref(a);
	conf_unref(&a);
	assert_string_equal(again->listen_tcp, "1");
	conf_unref(&again);
	conf_unref(&b);
	conf_unref(&b);
}

/* As adderd does: loaded by root, and again by whom it has become. */
static void
test_defaults_outlive_root(void **state)
{
	struct conf *a, *b;
	char *why;

	if (geteuid() != 0)
		skip();
	a = load(NULL, "pool.warm=9", &why);
	assert_int_equal(seteuid(65534), 0);
	b = load(NULL, "pool.warm=8", &why);
	assert_int_equal(seteuid(0), 0);
	if (b == NULL || conf_check_reload(a, b, &why) == -1)
		fail_msg("%s", why);
	conf_unref(&a);
	conf_unref(&b);
}

static void
test_paths_are_absolute(void **state)
{
	char *why;
	struct conf *c = load(NULL, "scratch.dir=.", &why);

	if (c == NULL)
		fail_msg("%s", why);
	assert_int_equal(c->scratch_dir[0], '/');
	conf_unref(&c);
}

static void
test_addresses(void **state)
{
	static const struct {
		const char	*in;
		const char	*want;	/* "host port;..." or NULL */
	} cases[] = {
		{ "", "" }, { "7000", "127.0.0.1 7000;" },
		{ "0", "127.0.0.1 0;" }, { "h:1", "h 1;" },
		{ "[::1]:65535", "::1 65535;" },
		{ "a:1,b:2, 3 ,", "a 1;b 2;127.0.0.1 3;" },
		{ "::1:7", NULL }, { "h:", NULL }, { ":7", NULL },
		{ "h:65536", NULL }, { "h:-1", NULL }, { "h:1x", NULL },
		{ "localhost", NULL }, { "a:1,b", NULL }, { "h:123456", NULL }
	};
	char got[512];
	size_t at;
	const char *cursor, *why;
	struct addr a;
	size_t i;
	int rv;

	for (i = 0; i < NITEMS(cases); i++) {
		cursor = cases[i].in;
		got[at = 0] = '\0';
		while ((rv = addr_next(&cursor, &a, &why)) == 1)
			at += snprintf(got + at, sizeof got - at, "%s %s;",
			    a.host, a.port);
		if (rv != (cases[i].want == NULL ? -1 : 0))
			fail_msg("\"%s\": %d", cases[i].in, rv);
		assert_true((why != NULL) == (rv == -1));
		if (rv == 0)
			assert_string_equal(got, cases[i].want);
	}
}

static int
make_file(void **state)
{
	int fd;

	strcpy(file, "/tmp/adder-conf-XXXXXX");
	fd = mkstemp(file);
	if (fd == -1)
		return -1;
	close(fd);
	return 0;
}

static int
remove_file(void **state)
{
	return unlink(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_random_files),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_defaults_outlive_root),
		cmocka_unit_test(test_paths_are_absolute),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
