#ifndef ADDER_PACK_H
#define ADDER_PACK_H

#include <stddef.h>
#include <stdint.h>

#include <msgpack.h>

/* Bytes that belong to someone else and are not NUL-terminated. */
struct slice {
	const char	*data;
	size_t		 len;
};

struct slice	slice_of(const char *);

/* Writes msgpack into a buffer of its own that grows. */
struct writer {
	msgpack_sbuffer	buf;
	msgpack_packer	pk;
};

void	wr_init(struct writer *);
void	wr_free(struct writer *);
void	wr_map(struct writer *, unsigned pairs);
void	wr_array(struct writer *, unsigned items);
void	wr_key(struct writer *, const char *);
void	wr_u64(struct writer *, uint64_t);
void	wr_i64(struct writer *, int64_t);
void	wr_bool(struct writer *, int);
void	wr_bin(struct writer *, struct slice);

/*
 * Reads one msgpack map.  Counts are checked against the bytes that are
 * there before anything is allocated, nesting is bounded, and the first
 * error is remembered: read all fields, then ask rd_end() once.
 */
#define READER_DEPTH_MAX	8

struct reader {
	msgpack_zone		*zone;	/* NULL in a reader of a sub-map */
	msgpack_object_map	 map;
	char			 error[96];
};

void	 rd_init(struct reader *, const void *, size_t);
/* Slices point into the bytes given to rd_init(). */
uint64_t rd_u64(struct reader *, const char *key);
int64_t	 rd_i64(struct reader *, const char *key);
int	 rd_bool(struct reader *, const char *key);
struct slice rd_bin(struct reader *, const char *key);
/* The value of key, which must be a map; ended with rd_end_sub(). */
void	 rd_map(struct reader *, const char *key, struct reader *sub);
void	 rd_end_sub(struct reader *, struct reader *sub);
/* Frees; 0 if every field was there and well typed, else -1 and error. */
int	 rd_end(struct reader *);
/* Refuses a field whose value makes no sense. */
void	 rd_fail(struct reader *, const char *key, const char *why);

#endif
