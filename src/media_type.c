#include "config.h"

#include <string.h>
#include <strings.h>

#include "media_type.h"
#include "utf8.h"

#define NITEMS(a)	(sizeof (a) / sizeof (a)[0])
#define ZIP		"application/zip"

static const struct magic {
	const char	*type;
	size_t		 at, len;
	const char	*bytes;
} pictures[] = {
	{ "image/png",	0, 8, "\x89PNG\r\n\x1a\n" },
	{ "image/jpeg",	0, 3, "\xff\xd8\xff" },
	{ "image/gif",	0, 6, "GIF87a" },
	{ "image/gif",	0, 6, "GIF89a" },
	{ "image/webp",	8, 4, "WEBP" }
}, others[] = {
	{ "application/pdf",	0, 5, "%PDF-" },
	{ ZIP,			0, 4, "PK\x03\x04" },
	{ ZIP,			0, 4, "PK\x05\x06" },
	{ "application/gzip",	0, 2, "\x1f\x8b" },
	{ "application/x-bzip2", 0, 3, "BZh" },
	{ "application/x-xz",	0, 6, "\xfd" "7zXZ\0" },
	{ "application/vnd.sqlite3", 0, 16, "SQLite format 3" },
	{ "application/vnd.apache.parquet", 0, 4, "PAR1" },
	{ "application/x-hdf5",	0, 8, "\x89HDF\r\n\x1a\n" },
	{ "application/x-npy",	0, 6, "\x93NUMPY" },
	{ "image/bmp",		0, 2, "BM" },
	{ "image/tiff",		0, 4, "II*\0" },
	{ "image/tiff",		0, 4, "MM\0*" },
	{ "audio/wav",		8, 4, "WAVE" },
	{ "audio/mpeg",		0, 3, "ID3" },
	{ "video/mp4",		4, 4, "ftyp" },
	{ "video/webm",		0, 4, "\x1a\x45\xdf\xa3" },
	{ "application/x-7z-compressed", 0, 6, "7z\xbc\xaf\x27\x1c" },
	{ "application/x-tar",	257, 5, "ustar" }
};

/* A suffix says what a text is, or what is in a zip archive. */
static const struct suffix {
	const char	*suffix;
	const char	*type;
} texts[] = {
	{ ".csv",	"text/csv" },
	{ ".tsv",	"text/tab-separated-values" },
	{ ".html",	"text/html" },
	{ ".htm",	"text/html" },
	{ ".css",	"text/css" },
	{ ".js",	"text/javascript" },
	{ ".json",	"application/json" },
	{ ".geojson",	"application/geo+json" },
	{ ".md",	"text/markdown" },
	{ ".py",	"text/x-python" },
	{ ".svg",	"image/svg+xml" },
	{ ".tex",	"text/x-tex" },
	{ ".xml",	"application/xml" },
	{ ".yaml",	"application/yaml" },
	{ ".yml",	"application/yaml" }
}, archives[] = {
	{ ".xlsx",
	    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
	{ ".docx",
	    "application/vnd.openxmlformats-officedocument."
	    "wordprocessingml.document" },
	{ ".pptx",
	    "application/vnd.openxmlformats-officedocument."
	    "presentationml.presentation" },
	{ ".ods",	"application/vnd.oasis.opendocument.spreadsheet" },
	{ ".npz",	"application/x-npz" }
};

static const char *
by_magic(const struct magic *m, size_t n, const char *data, size_t len)
{
	for (; n > 0; n--, m++)
		if (len >= m->at + m->len &&
		    memcmp(data + m->at, m->bytes, m->len) == 0)
			return m->type;
	return NULL;
}

static const char *
by_suffix(const struct suffix *s, size_t n, const char *name)
{
	const char *dot = strrchr(name, '.');

	for (; dot != NULL && n > 0; n--, s++)
		if (strcasecmp(dot, s->suffix) == 0)
			return s->type;
	return NULL;
}

const char *
media_picture(const char *data, size_t len)
{
	const char *type = by_magic(pictures, NITEMS(pictures), data, len);

	/* A text may begin with "GIF89a", too. */
	return type != NULL && media_is_text(data, len) ? NULL : type;
}

int
media_is_text(const char *data, size_t len)
{
	return memchr(data, '\0', len) == NULL && utf8_valid(data, len);
}

const char *
media_type(const char *name, const char *data, size_t len, int whole)
{
	const char *type = media_picture(data, len), *inner;

	if (type == NULL)
		type = by_magic(others, NITEMS(others), data, len);
	if (type != NULL && strcmp(type, ZIP) == 0) {
		inner = by_suffix(archives, NITEMS(archives), name);
		return inner != NULL ? inner : type;
	}
	/* A part may end within a character. */
	if (!whole)
		len = utf8_whole_end(data, len);
	/* "BM" and "ID3" may begin a text. */
	if (media_is_text(data, len) && (type == NULL ||
	    strcmp(type, "application/pdf") != 0)) {
		inner = by_suffix(texts, NITEMS(texts), name);
		return inner != NULL ? inner : "text/plain";
	}
	return type != NULL ? type : "application/octet-stream";
}

int
media_type_is_text(const char *type)
{
	size_t i;

	if (strncmp(type, "text/", 5) == 0)
		return 1;
	for (i = 0; i < NITEMS(texts); i++)
		if (strcmp(texts[i].type, type) == 0)
			return 1;
	return 0;
}
