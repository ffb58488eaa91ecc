#include "config.h"

#include "pycompat.h"

#include <dlfcn.h>
#include <sys/resource.h>

#include "callbacks.h"
#include "interp.h"

/*
 * Theory of operation.  Since 3.4 libffi can make callbacks from pages of its
 * own file, which it keeps open to map more of them (its src/tramp.c).  In
 * workers that would be one open file for all: by its offset they could tell
 * each other what they please, and a worker that closed it could make no
 * more callbacks than fit into the page that there is.  How it makes them,
 * libffi decides once, with the first: if no file can be opened then, it
 * takes anonymous memory, as it did before.
 */

#define CLOSURE_BYTES	256	/* a closure is smaller everywhere */

typedef void	*closure_alloc(size_t, void **);

/* What _ctypes allocates closures with, without importing it: imported, it
 * has allocated the first. */
static closure_alloc *
find_alloc(void)
{
	PyObject *file = interp_call("preload", "extension_file", "(s)",
	    "_ctypes");
	const char *path = file == NULL ? NULL : PyUnicode_AsUTF8(file);
	void *lib = path == NULL ? NULL : dlopen(path, RTLD_LAZY);

	PyErr_Clear();
	Py_XDECREF(file);
	return lib == NULL ? NULL :
	    (closure_alloc *)dlsym(lib, "ffi_closure_alloc");
}

void
callbacks_settle(void)
{
	closure_alloc *alloc = find_alloc();
	struct rlimit was, none;
	void *code;

	if (alloc == NULL || getrlimit(RLIMIT_NOFILE, &was) == -1)
		return;
	none = was;
	none.rlim_cur = 0;
	if (setrlimit(RLIMIT_NOFILE, &none) == -1)
		return;
	/* One closure for ever: its page stays with those that follow. */
	(void)alloc(CLOSURE_BYTES, &code);
	(void)setrlimit(RLIMIT_NOFILE, &was);
}
