/*
 * Gives a fuzz target each file of its corpus, whole, cut short, and changed
 * a little, always in the same ways.  Without arguments the corpus is that
 * of the program's name; else the arguments are files and directories.
 */
#include "config.h"

#include <sys/stat.h>

#include <dirent.h>
#include <err.h>
#include <string.h>

#include "fuzz.h"
#include "mem.h"

#define CUTS	16
#define CHANGES	48

static unsigned long	files, inputs;

static uint32_t
random_next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* In memory of exactly its size, so that a sanitizer sees what is read
 * behind it. */
static void
give(const uint8_t *data, size_t len)
{
	uint8_t *copy = xmalloc(len == 0 ? 1 : len);

	memcpy(copy, data, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
	inputs++;
}

static void
give_changed(const uint8_t *data, size_t len)
{
	static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xff, '\n',
	    '\r', '"', '{', '[', ' ', ':' };
	uint32_t state = 1 + (uint32_t)len;
	uint8_t *copy = xmalloc(len);
	size_t i, at, n;

	for (i = 0; i < CHANGES; i++) {
		memcpy(copy, data, len);
		for (n = 1 + random_next(&state) % 3; n > 0; n--) {
			at = random_next(&state) % len;
			copy[at] = n == 2 ? (uint8_t)random_next(&state) :
			    telling[random_next(&state) % sizeof telling];
		}
		give(copy, len);
	}
	free(copy);
}

static void
replay_file(const char *path, off_t size)
{
	uint8_t *data = xmalloc((size_t)size + 1);
	FILE *f = fopen(path, "rbe");
	size_t len, i;

	if (f == NULL)
		err(1, "%s", path);
	len = fread(data, 1, (size_t)size, f);
	fclose(f);
	files++;
	give(data, len);
	for (i = 0; i < CUTS && len > 0; i++)
		give(data, len * i / CUTS);
	if (len > 0)
		give_changed(data, len);
	free(data);
}

static void	replay(const char *);

static void
replay_directory(const char *path)
{
	struct dirent **list;
	char *sub;
	int i, n = scandir(path, &list, NULL, alphasort);

	if (n == -1)
		err(1, "%s", path);
	for (i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.') {
			xasprintf(&sub, "%s/%s", path, list[i]->d_name);
			replay(sub);
			free(sub);
		}
		free(list[i]);
	}
	free(list);
}

static void
replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		err(1, "%s", path);
	if (S_ISDIR(st.st_mode))
		replay_directory(path);
	else
		replay_file(path, st.st_size);
}

/* .../tests/fuzz/frame.t has tests/fuzz/corpus/frame of the sources. */
static void
replay_own(const char *program)
{
	const char *source = getenv("ADDER_SOURCE");
	const char *name = strrchr(program, '/');
	char *path;

	name = name == NULL ? program : name + 1;
	xasprintf(&path, "%s/tests/fuzz/corpus/%.*s",
	    source == NULL ? "." : source, (int)strcspn(name, "."), name);
	replay(path);
	free(path);
}

int
main(int argc, char **argv)
{
	int i;

	if (argc == 1)
		replay_own(argv[0]);
	for (i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%lu files, %lu inputs\n", files, inputs);
	if (files == 0)
		errx(1, "no corpus");
	return 0;
}
