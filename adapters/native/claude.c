#include "claude.h"

#include "caller.h"
#include "marking.h"

typedef struct {
    PyObject_HEAD
    Pieces pieces;
    PyObject *traits, *small; /* bytes, shared by all vocabularies */
} PiecesObject;

/* Runs `tiler` over a text; 0, or -1 with an exception set. */
static int run(PiecesObject *self, PyObject *text, unsigned marking, uint64_t limit, PyObject *check, Tiler *tiler)
{
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (!utf8)
        return -1;
    Caller caller = {check == Py_None ? NULL : check, NULL};
    tiler_start(tiler, &self->pieces, limit, caller.check ? (Poll){ask, &caller} : (Poll){NULL, NULL});
    const Characters characters = {(const uint8_t *)PyBytes_AsString(self->traits),
                                   (const uint8_t *)PyBytes_AsString(self->small)};
    if (size > RELEASE_BEYOND)
        caller.released = PyEval_SaveThread();
    if (size)
        count_marked(tiler, &characters, marking, (const uint8_t *)utf8, (size_t)size);
    if (caller.released)
        PyEval_RestoreThread(caller.released);
    if (tiler->outcome == NO_MEMORY)
        PyErr_NoMemory();
    return tiler->outcome == NO_MEMORY || tiler->outcome == STOPPED ? -1 : 0;
}

static PyObject *pieces_count(PiecesObject *self, PyObject *args)
{
    PyObject *text, *check = Py_None;
    unsigned marking;
    Tiler tiler;
    if (!PyArg_ParseTuple(args, "UI|O:count", &text, &marking, &check))
        return NULL;
    return run(self, text, marking, UINT64_MAX, check, &tiler) ? NULL : PyLong_FromUnsignedLongLong(tiler.total);
}

static PyObject *pieces_fits(PiecesObject *self, PyObject *args)
{
    PyObject *text;
    unsigned marking;
    unsigned long long limit;
    Tiler tiler;
    if (!PyArg_ParseTuple(args, "UIK:fits", &text, &marking, &limit))
        return NULL;
    if (run(self, text, marking, limit, Py_None, &tiler))
        return NULL;
    return PyBool_FromLong(tiler.outcome == DONE && tiler.total <= limit);
}

static int build(PiecesObject *self, const char *file, Py_ssize_t size)
{
    if (PyBytes_Size(self->traits) != PLANE || PyBytes_Size(self->small) != 2 * PLANE) {
        PyErr_SetString(PyExc_ValueError, "the tables must have one entry for every code point up to U+FFFF");
        return -1;
    }
    enum PiecesError error;
    Py_BEGIN_ALLOW_THREADS
    error = pieces_build(&self->pieces, (const uint8_t *)file, (size_t)size);
    Py_END_ALLOW_THREADS
    if (error == PIECES_NO_MEMORY)
        PyErr_NoMemory();
    else if (error == PIECES_MALFORMED)
        PyErr_SetString(PyExc_ValueError, "the pieces must be in order, each one once and ended by the byte FF");
    else if (error == PIECES_CROSSING)
        PyErr_SetString(PyExc_ValueError, "a piece reaches across a border of words or of white space");
    return error == PIECES_BUILT ? 0 : -1;
}

static PyObject *pieces_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *file;
    Py_ssize_t size;
    PyObject *traits, *small;
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Pieces takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "y#SS:Pieces", &file, &size, &traits, &small))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PiecesObject *self = (PiecesObject *)allocate(type, 0); /* all zeros */
    if (!self)
        return NULL;
    self->traits = Py_NewRef(traits);
    self->small = Py_NewRef(small);
    if (build(self, file, size))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void pieces_dealloc(PiecesObject *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    pieces_free(&self->pieces);
    Py_XDECREF(self->traits);
    Py_XDECREF(self->small);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *pieces_size(PiecesObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(self->pieces.count);
}

static PyMethodDef methods[] = {
    {"count", (PyCFunction)(void (*)(void))pieces_count, METH_VARARGS, "count(text, marking, check=None) -> int"},
    {"fits", (PyCFunction)(void (*)(void))pieces_fits, METH_VARARGS, "fits(text, marking, limit) -> bool"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"size", (getter)(void (*)(void))pieces_size, NULL, "number of pieces", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Pieces(file, traits, small_letters)"},
    {Py_tp_new, (void *)pieces_new},
    {Py_tp_dealloc, (void *)pieces_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {
    "adapters.native._core.Pieces",
    sizeof(PiecesObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    slots,
};

int add_pieces_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type)
        return -1;
    int failed = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return failed;
}
