#ifndef ADDER_MEM_H
#define ADDER_MEM_H

#include <stdarg.h>
#include <stddef.h>

/* Allocation that ends the process on failure: for small, bounded sizes. */
void	*xmalloc(size_t) __attribute__((malloc, alloc_size(1)));
void	*xcalloc(size_t, size_t) __attribute__((malloc, alloc_size(1, 2)));
void	*xreallocarray(void *, size_t, size_t);
char	*xstrdup(const char *);
/* Copies n bytes and adds a NUL; the caller frees. */
char	*xmemdupz(const void *, size_t);
int	 xasprintf(char **, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
int	 xvasprintf(char **, const char *, va_list)
	    __attribute__((format(printf, 2, 0)));

#endif
