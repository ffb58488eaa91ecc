#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "fdutil.h"
#include "mem.h"

static int
base64_digit(int c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c == '\0' ? NULL : strchr(digits, c);

	return p == NULL ? -1 : (int)(p - digits);
}

/* Decodes up to the padding; the caller frees.  NULL if it is no base64. */
static unsigned char *
base64_decode(const char *in, size_t len, size_t *out_len)
{
	unsigned char *out = xmalloc(len / 4 * 3 + 3);
	unsigned acc = 0, bits = 0;
	int digit;
	size_t i;

	*out_len = 0;
	for (i = 0; i < len && in[i] != '='; i++) {
		if ((digit = base64_digit(in[i])) == -1) {
			free(out);
			return NULL;
		}
		acc = acc << 6 | (unsigned)digit;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out[(*out_len)++] = (unsigned char)(acc >> bits);
		}
	}
	return out;
}

/* Undoes percent-encoding (RFC 3986, section 2.1) in place. */
static void
percent_decode(char *s)
{
	char *out = s;
	unsigned c;

	for (; *s != '\0'; s++) {
		if (*s == '%' && isxdigit((unsigned char)s[1]) &&
		    isxdigit((unsigned char)s[2]) &&
		    sscanf(s + 1, "%2x", &c) == 1) {
			*out++ = (char)c;
			s += 2;
		} else
			*out++ = *s;
	}
	*out = '\0';
}

/*
 * The last component of a name or URI from outside (the caller frees), or
 * NULL if it has none that a file here may have.
 */
static char *
safe_name(const char *name, int is_uri)
{
	const char *slash, *p;
	char *safe;

	if (name == NULL)
		return NULL;
	safe = xstrdup(name);
	if (is_uri)
		percent_decode(safe);
	slash = strrchr(safe, '/');
	if (slash != NULL)
		memmove(safe, slash + 1, strlen(slash));
	for (p = safe; (unsigned char)*p >= 0x20 && *p != 0x7f; p++)
		;
	if (*p != '\0' || *safe == '\0' || *safe == '.') {
		free(safe);
		return NULL;
	}
	return safe;
}

/* The name that the program or the server gave it; NULL for none. */
static char *
given_name(const json_t *block)
{
	char *name = safe_name(json_string_value(json_object_get(block,
	    "name")), 0);

	if (name == NULL)
		name = safe_name(json_string_value(json_object_get(
		    json_object_get(block, "_meta"), "adder/name")), 0);
	if (name == NULL)
		name = safe_name(json_string_value(json_object_get(
		    json_object_get(block, "resource"), "uri")), 1);
	return name;
}

/* The caller frees. */
static char *
file_name(const json_t *block, const char *mime, unsigned count)
{
	char *name = given_name(block), *subtype;

	if (name != NULL)
		return name;
	subtype = safe_name(mime, 0);
	xasprintf(&name, "result-%u.%s", count,
	    subtype != NULL ? subtype : "bin");
	free(subtype);
	return name;
}

/* Another name if one of this answer has it: a/x.png and b/x.png are both
 * x.png here.  Takes name over; the caller frees. */
static char *
unused_name(char *name, unsigned count)
{
	static json_t *used;
	char *other;

	if (used == NULL)
		used = json_object();
	if (json_object_get(used, name) != NULL) {
		xasprintf(&other, "%u-%s", count, name);
		free(name);
		name = other;
	}
	json_object_set_new(used, name, json_true());
	return name;
}

/* Never replaces a file and never follows a link. */
static int
write_file(const char *dir, const char *name, const void *data, size_t len)
{
	char *path;
	int fd, ok;

	xasprintf(&path, "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0666);
	ok = fd != -1 && fd_write_all(fd, data, len) == 0;
	if (!ok)
		fprintf(stderr, "adderctl: cannot save %s: %s\n", path,
		    strerror(errno));
	else
		fprintf(stderr, "adderctl: saved %s, %zu bytes\n", path, len);
	fd_close(&fd);
	free(path);
	return ok ? 0 : -1;
}

/* Decodes data, or takes text, and saves it. */
static int
save_bytes(const char *dir, const char *name, const json_t *data,
    const json_t *text)
{
	unsigned char *bytes;
	size_t len;
	int rc;

	if (json_is_string(text))
		return write_file(dir, name, json_string_value(text),
		    json_string_length(text));
	bytes = base64_decode(json_string_value(data),
	    json_string_length(data), &len);
	if (bytes == NULL) {
		fprintf(stderr, "adderctl: cannot save %s: the server sent "
		    "something else than base64\n", name);
		return -1;
	}
	rc = write_file(dir, name, bytes, len);
	free(bytes);
	return rc;
}

int
ctl_save(const json_t *block, const char *dir, unsigned count)
{
	const json_t *resource = json_object_get(block, "resource");
	const json_t *where = resource != NULL ? resource : block;
	const json_t *data = json_object_get(where,
	    resource != NULL ? "blob" : "data");
	const json_t *text = json_object_get(resource, "text");
	const char *mime = json_string_value(json_object_get(where,
	    "mimeType"));
	const char *uri = json_string_value(json_object_get(where, "uri"));
	char *name;
	int rc = 0;

	if (mime == NULL)
		mime = "application/octet-stream";
	name = unused_name(file_name(block, mime, count), count);
	if (!json_is_string(data) && !json_is_string(text))
		fprintf(stderr, "adderctl: file %s, %s: %s\n", name, mime,
		    uri != NULL ? uri : "without content");
	else if (dir == NULL)
		fprintf(stderr, "adderctl: %s, %s: not saved, -o dir saves "
		    "it\n", name, mime);
	else
		rc = save_bytes(dir, name, data, text);
	free(name);
	return rc;
}
