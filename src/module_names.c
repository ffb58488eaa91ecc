#include "config.h"

#include <string.h>

#include "module_names.h"

/* Modules whose package is named otherwise, from the metadata of packages. */
static const struct {
	const char	*module;
	const char	*package;
} names[] = {
	{ "Bio", "biopython" },
	{ "Crypto", "pycryptodome" },
	{ "Cryptodome", "pycryptodomex" },
	{ "MySQLdb", "mysqlclient" },
	{ "OpenSSL", "pyOpenSSL" },
	{ "PIL", "pillow" },
	{ "attr", "attrs" },
	{ "barcode", "python-barcode" },
	{ "bs4", "beautifulsoup4" },
	{ "community", "python-louvain" },
	{ "cv2", "opencv-python-headless" },
	{ "dateutil", "python-dateutil" },
	{ "docx", "python-docx" },
	{ "dotenv", "python-dotenv" },
	{ "faiss", "faiss-cpu" },
	{ "fitz", "PyMuPDF" },
	{ "git", "GitPython" },
	{ "github", "PyGithub" },
	{ "igraph", "python-igraph" },
	{ "jose", "python-jose" },
	{ "jwt", "PyJWT" },
	{ "lzo", "python-lzo" },
	{ "magic", "python-magic" },
	{ "mpl_toolkits", "matplotlib" },
	{ "nacl", "PyNaCl" },
	{ "pkg_resources", "setuptools" },
	{ "pptx", "python-pptx" },
	{ "psycopg2", "psycopg2-binary" },
	{ "pysat", "python-sat" },
	{ "serial", "pyserial" },
	{ "skimage", "scikit-image" },
	{ "sklearn", "scikit-learn" },
	{ "slugify", "python-slugify" },
	{ "socks", "PySocks" },
	{ "telegram", "python-telegram-bot" },
	{ "umap", "umap-learn" },
	{ "usb", "pyusb" },
	{ "websocket", "websocket-client" },
	{ "wx", "wxPython" },
	{ "yaml", "PyYAML" },
	{ "zmq", "pyzmq" }
};

const char *
module_package(const char *module, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i].module) == len &&
		    memcmp(names[i].module, module, len) == 0)
			return names[i].package;
	return NULL;
}
