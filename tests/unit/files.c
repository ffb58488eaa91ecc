/* Types of files, paths that others chose, and the index of files.dir. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "file_about.h"
#include "file_index.h"
#include "media_type.h"
#include "mem.h"
#include "rmtree.h"
#include "unit.h"

static void
test_types(void **state)
{
	static const struct {
		const char	*name, *data;
		size_t		 len;
		int		 whole;
		const char	*type;
	} cases[] = {
#define CASE(name, data, whole, type)					\
		{ name, data, sizeof data - 1, whole, type }
		CASE("a.csv", "1,2\n", 1, "text/csv"),
		CASE("A.CSV", "1,2\n", 1, "text/csv"),
		CASE("a.csv", "", 1, "text/csv"),
		CASE("a", "", 1, "text/plain"),
		CASE("a.png", "\x89PNG\r\n\x1a\n", 1, "image/png"),
		CASE("a.txt", "\x89PNG\r\n\x1a\n", 1, "image/png"),
		CASE("a.png", "text", 1, "text/plain"),
		CASE("a.gif", "GIF89a of text", 1, "text/plain"),
		CASE("a.gif", "GIF89a\1\0", 1, "image/gif"),
		CASE("a.webp", "RIFF\0\0\0\0WEBPVP8 ", 1, "image/webp"),
		CASE("a.wav", "RIFF\0\0\0\0WAVEfmt ", 1, "audio/wav"),
		CASE("a.txt", "BM is a text", 1, "text/plain"),
		CASE("a.bmp", "BM\0\0", 1, "image/bmp"),
		CASE("a.pdf", "%PDF-1.4 all ASCII", 1, "application/pdf"),
		CASE("a.json", "a\0b", 1, "application/octet-stream"),
		CASE("a.txt", "caf\xc3", 1, "application/octet-stream"),
		CASE("a.txt", "caf\xc3", 0, "text/plain"),
		CASE("a.zip", "PK\x03\x04\0", 1, "application/zip"),
		CASE("a.npz", "PK\x03\x04\0", 1, "application/x-npz")
#undef CASE
	};
	size_t i;

	for (i = 0; i < NITEMS(cases); i++)
		if (strcmp(media_type(cases[i].name, cases[i].data,
		    cases[i].len, cases[i].whole), cases[i].type) != 0)
			fail_msg("%s, case %zu: %s", cases[i].name, i,
			    media_type(cases[i].name, cases[i].data,
			    cases[i].len, cases[i].whole));
	assert_null(media_picture("\x89PNG", 4));
	assert_null(media_picture("", 0));
	assert_true(media_type_is_text("image/svg+xml"));
	assert_false(media_type_is_text("image/png"));
}

static void
test_paths(void **state)
{
	static const char *const good[] = { "a", "a/b", ".a", "...", "a b",
	    "-", "\xff", "a\\b", "\xc3\xa9", NULL };
	static const char *const bad[] = { "", "/", "/a", "a/", "a//b", ".",
	    "..", "a/..", "../a", "a/./b", "a\n", "\x7f", "a\tb",
	    "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", NULL };
	char longest[300];
	size_t i;

	for (i = 0; good[i] != NULL; i++)
		assert_null(beneath_trouble(good[i], strlen(good[i])));
	for (i = 0; bad[i] != NULL; i++)
		if (beneath_trouble(bad[i], strlen(bad[i])) == NULL)
			fail_msg("\"%s\" is taken", bad[i]);
	assert_non_null(beneath_trouble("a\0b", 3));
	memset(longest, 'x', sizeof longest);
	assert_null(beneath_trouble(longest, 255));
	assert_non_null(beneath_trouble(longest, 256));
}

static char	top[64];

static int
open_top(void)
{
	int fd;

	snprintf(top, sizeof top, "/tmp/adder-unit-XXXXXX");
	assert_non_null(mkdtemp(top));
	fd = open(top, O_RDONLY | O_DIRECTORY);
	assert_int_not_equal(fd, -1);
	return fd;
}

static void
put(int dirfd, const char *path)
{
	int fd = beneath_create(dirfd, path, 0600);

	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, path, strlen(path)), strlen(path));
	close(fd);
}

static void
test_links_are_not_followed(void **state)
{
	int dirfd = open_top(), fd;
	struct stat st;

	put(dirfd, "d/e/f");
	put(dirfd, "target");
	assert_int_equal(symlinkat("target", dirfd, "link"), 0);
	assert_int_equal(symlinkat("/tmp", dirfd, "out"), 0);
	assert_int_equal(symlinkat("d", dirfd, "in"), 0);
	assert_int_equal(beneath_open(dirfd, "link", O_RDONLY, 0), -1);
	assert_int_equal(beneath_open(dirfd, "in/e/f", O_RDONLY, 0), -1);
	assert_int_equal(beneath_open(dirfd, "out/x", O_RDONLY, 0), -1);
	assert_int_equal(beneath_open(dirfd, "../x", O_RDONLY, 0), -1);
	assert_int_equal(beneath_open(dirfd, "/etc/passwd", O_RDONLY, 0), -1);
	fd = beneath_open(dirfd, "d/e/f", O_RDONLY, 0);
	assert_int_not_equal(fd, -1);
	close(fd);
	/* What is made replaces a link, and never goes through one. */
	put(dirfd, "link");
	assert_int_equal(fstatat(dirfd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode) && st.st_size == 4);
	assert_int_equal(fstatat(dirfd, "target", &st, 0), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_equal(beneath_create(dirfd, "in/new", 0600), -1);
	assert_int_equal(beneath_create(dirfd, "out/new", 0600), -1);
	assert_int_equal(beneath_create(dirfd, "target/new", 0600), -1);
	errno = 0;
	assert_int_equal(beneath_create(dirfd, "d", 0600), -1);
	assert_int_equal(errno, EISDIR);
	close(dirfd);
	assert_int_equal(rmtree_at(AT_FDCWD, top), 0);
}

static void
test_paths_in_uris(void **state)
{
	static const char *const paths[] = { "a", "d/a b.csv", "50%?#\xc3\xa9",
	    "\xff\x01", "~-._", NULL };
	char *text, broken[][8] = { "%", "%4", "%zz", "%00", "a%2" };
	size_t i;

	for (i = 0; paths[i] != NULL; i++) {
		text = path_encode(paths[i]);
		assert_null(strpbrk(text, " ?#\xc3\xff"));
		assert_int_equal(path_decode(text), 0);
		assert_string_equal(text, paths[i]);
		free(text);
	}
	for (i = 0; i < NITEMS(broken); i++)
		assert_int_equal(path_decode(broken[i]), -1);
}

static struct kept_run *
run(const char *id, const char *owner, size_t files)
{
	struct kept_run *r = xcalloc(1, sizeof *r);
	char name[32];
	size_t i;

	snprintf(r->id, sizeof r->id, "%s", id);
	snprintf(r->owner, sizeof r->owner, "%s", owner);
	r->made_ms = 1;
	r->cost = 4096 * files;
	for (i = 0; i < files; i++) {
		snprintf(name, sizeof name, "f %zu", i);
		kept_run_add(r, name, "text/plain", i);
	}
	return r;
}

static void
test_index(void **state)
{
	struct file_index *x = file_index_new();
	const struct kept_file *f;
	const struct kept_run *r;
	struct kept_run *a, *b;
	uint64_t after = 0;
	size_t n = 0;

	file_index_add(x, run("a", "me", 3));
	file_index_add(x, run("b", "you", 2));
	file_index_add(x, run("c", "me", 4));
	file_index_add(x, run("d", "", 1));
	assert_int_equal(x->nfiles, 10);
	assert_int_equal(x->cost, 40960);
	while ((f = file_index_next(x, "me", NULL, after, &r)) != NULL) {
		after = r->serial + (f - r->files);
		n++;
	}
	assert_int_equal(n, 7);
	/* Nobody is shown what is nobody's, but who holds it is. */
	assert_null(file_index_next(x, "", NULL, 0, &r));
	file_index_find(x, "d")->holder = &n;
	assert_non_null(file_index_next(x, "", &n, 0, &r));
	assert_string_equal(r->id, "d");
	a = file_index_find(x, "a");
	b = TAILQ_FIRST(&x->lru);
	assert_ptr_equal(a, b);
	file_index_used(x, a, 5);
	assert_string_equal(TAILQ_FIRST(&x->lru)->id, "b");
	assert_non_null(kept_run_file(a, "f 2"));
	assert_null(kept_run_file(a, "f 3"));
	file_index_remove(x, a);
	kept_run_free(&a);
	assert_null(file_index_find(x, "a"));
	assert_int_equal(x->nfiles, 7);
	file_index_free(&x);
}

/* Reads a text as a list; the number of its files, or -1. */
static int
read_about(const char *text)
{
	struct kept_run *r = xcalloc(1, sizeof *r);
	FILE *in = fmemopen((char *)text, strlen(text), "r");
	int n = file_about_read(r, in) == -1 ? -1 : (int)r->nfiles;

	fclose(in);
	kept_run_free(&r);
	return n;
}

static void
test_lists_on_disk(void **state)
{
	static const char *const bad[] = { "x", "adder run 2\nmade 5\n",
	    "adder run 1\n", "adder run 1\nmade 5\nfile 1 text/plain\n",
	    "adder run 1\nmade 5\nfile x text/plain a\n",
	    "adder run 1\nmade 5\nfile 1 text/plain ../a\n",
	    "adder run 1\nmade 5\nfile 1 text/plain %2Fetc\n",
	    "adder run 1\nmade 5\nother\n",
	    "adder run 1\nmade 5\nfiles 2\nfile 1 text/plain a\n", NULL };
	struct kept_run *r = run("a", "uid 5", 3);
	size_t i, len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	file_about_write(r, out);
	fclose(out);
	assert_int_equal(read_about(text), 3);
	free(text);
	kept_run_free(&r);
	for (i = 0; bad[i] != NULL; i++)
		if (read_about(bad[i]) != -1)
			fail_msg("taken: %s", bad[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_links_are_not_followed),
		cmocka_unit_test(test_paths_in_uris),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_lists_on_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
