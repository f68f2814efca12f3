/* What the extension module offers for training. */
#ifndef WEIGHBRIDGE_TRAINING_H
#define WEIGHBRIDGE_TRAINING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the types WordCounts and Merges; 0, or -1 with an exception set. */
int add_training_types(PyObject *module);

#endif
