/* The type Pieces of the extension module. */
#ifndef WEIGHBRIDGE_CLAUDE_H
#define WEIGHBRIDGE_CLAUDE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* 0, or -1 with an exception set. */
int add_pieces_type(PyObject *module);

#endif
