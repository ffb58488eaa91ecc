#ifndef ADDER_INSTALLER_H
#define ADDER_INSTALLER_H

/*
 * The installer of packages: adderd, executed by the keeper as
 *
 *   adderd --installer PYTHON DEPS_DIR OFFLINE PORTS LAYERS UID_BASE
 *       MAX_BYTES SDIST
 *
 * with the request as standard input, the report as standard output and the
 * log as standard error.  It confines itself and becomes the interpreter that
 * runs installer.py.  Returns the exit status.
 */
#define INSTALLER_ARGS	8
int	installer_main(int argc, char **argv);

#endif
