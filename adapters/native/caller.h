/* The interpreter behind a Poll: takes its lock back to ask whether to go on. */
#ifndef WEIGHBRIDGE_CALLER_H
#define WEIGHBRIDGE_CALLER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define RELEASE_BEYOND 2048 /* bytes of a text from which on the interpreter's lock is released */

typedef struct {
    PyObject *check; /* NULL or a callable that raises to end the work */
    PyThreadState *released;
} Caller;

static inline int ask(void *context)
{
    Caller *caller = context;
    if (caller->released)
        PyEval_RestoreThread(caller->released);
    PyObject *answer = PyObject_CallObject(caller->check, NULL);
    int stopped = answer == NULL;
    Py_XDECREF(answer);
    if (caller->released)
        caller->released = PyEval_SaveThread();
    return stopped;
}

#endif
