#include "config.h"

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

/* The last component of a name from outside, or NULL if it has none that a
 * file here may have. */
static const char *
safe_name(const char *name)
{
	const char *slash, *p;

	if (name == NULL)
		return NULL;
	slash = strrchr(name, '/');
	if (slash != NULL)
		name = slash + 1;
	if (*name == '\0' || *name == '.')
		return NULL;
	for (p = name; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return NULL;
	return name;
}

/* The caller frees. */
static char *
file_name(const json_t *block, const char *mime, unsigned count)
{
	const json_t *resource = json_object_get(block, "resource");
	const char *name, *subtype;
	char *made;

	name = safe_name(json_string_value(json_object_get(block, "name")));
	if (name == NULL)
		name = safe_name(json_string_value(json_object_get(resource,
		    "uri")));
	if (name != NULL)
		return xstrdup(name);
	subtype = safe_name(mime);
	xasprintf(&made, "result-%u.%s", count,
	    subtype != NULL ? subtype : "bin");
	return made;
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
	name = file_name(block, mime, count);
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
