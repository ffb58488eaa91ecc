#include "config.h"

#include "pycompat.h"

#include "pymain.h"

static PyObject	*first_dict;	/* of the __main__ that CPython made */
static PyObject	*loader_type;	/* importlib's SourceFileLoader */

int
pymain_init(void)
{
	PyObject *mod = PyImport_AddModule("__main__");

	if (mod == NULL)
		return -1;
	first_dict = Py_NewRef(PyModule_GetDict(mod));
	mod = PyImport_ImportModule("importlib.machinery");
	if (mod == NULL)
		return -1;
	loader_type = PyObject_GetAttrString(mod, "SourceFileLoader");
	Py_DECREF(mod);
	return loader_type == NULL ? -1 : 0;
}

/* Same names in the same order, with the values of a script. */
static int
fill(PyObject *dict, PyObject *file)
{
	PyObject *key, *value, *loader, *fresh;
	Py_ssize_t at = 0;
	int rv = 0;

	while (rv == 0 && PyDict_Next(first_dict, &at, &key, &value)) {
		fresh = PyDict_CheckExact(value) ? PyDict_New() :
		    Py_NewRef(value);
		rv = fresh == NULL ? -1 : PyDict_SetItem(dict, key, fresh);
		Py_XDECREF(fresh);
	}
	loader = PyObject_CallFunction(loader_type, "sO", "__main__", file);
	if (rv == -1 || loader == NULL)
		return -1;
	rv = PyDict_SetItemString(dict, "__loader__", loader);
	Py_DECREF(loader);
	if (rv == -1 || PyDict_SetItemString(dict, "__file__", file) == -1)
		return -1;
	return PyDict_SetItemString(dict, "__cached__", Py_None);
}

PyObject *
pymain_make(const char *path)
{
	PyObject *mod = PyModule_New("__main__"), *file;
	int rv = -1;

	file = PyUnicode_DecodeFSDefault(path);
	if (mod != NULL && file != NULL &&
	    fill(PyModule_GetDict(mod), file) == 0)
		rv = PyDict_SetItemString(PyImport_GetModuleDict(), "__main__",
		    mod);
	Py_XDECREF(file);
	Py_XDECREF(mod);	/* sys.modules holds it */
	return rv == -1 ? NULL : mod;
}

void
pymain_unname(PyObject *dict)
{
	if (PyDict_DelItemString(dict, "__file__") == -1)
		PyErr_Clear();
	if (PyDict_DelItemString(dict, "__cached__") == -1)
		PyErr_Clear();
}

void
pymain_set_file(const char *path)
{
	PyObject *mod = PyImport_AddModule("__main__"), *file;

	file = PyUnicode_DecodeFSDefault(path);
	if (mod == NULL || file == NULL ||
	    PyDict_SetItemString(PyModule_GetDict(mod), "__file__", file) ==
	    -1)
		PyErr_Clear();
	Py_XDECREF(file);
}
