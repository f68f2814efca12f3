/* The extension module, and its type Vocabulary; Pieces is in claude.c. */
#include "caller.h"

#include <stdlib.h>

#include "claude.h"
#include "cuts.h"
#include "scan.h"
#include "training.h"

#define MOST_KEPT 4         /* memories that wait for a next call */

typedef struct {
    PyObject_HEAD
    Vocabulary vocabulary;
    const Family *family;
    const CutRule *cuts;
    Memory *kept[MOST_KEPT]; /* taken and given back under the interpreter's lock */
    int kept_count;
} VocabularyObject;

/* Whether the byte at `at` goes on with a character. */
static bool continues(const char *utf8, Py_ssize_t at, Py_ssize_t size)
{
    return at < size && ((unsigned char)utf8[at] & 0xc0) == 0x80;
}

static Memory *take_memory(VocabularyObject *self)
{
    return self->kept_count ? self->kept[--self->kept_count] : memory_new();
}

static void give_back(VocabularyObject *self, Memory *memory)
{
    if (self->kept_count < MOST_KEPT)
        self->kept[self->kept_count++] = memory;
    else
        memory_free(memory);
}

/* Runs a job on the bytes of `text` from `start` to `end`, each the border of a character, or to its own end where that
 * comes first; 0, 1 for BEYOND_LIMIT, or -1 with an exception set. */
static int run_part(VocabularyObject *self, PyObject *text, Py_ssize_t start, Py_ssize_t end, PyObject *check, Job *job)
{
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (!utf8)
        return -1;
    end = end < size ? end : size;
    if (start < 0 || start > end || continues(utf8, start, size) || continues(utf8, end, size)) {
        PyErr_SetString(PyExc_ValueError, "a part must begin and end at borders of characters");
        return -1;
    }
    size = end - start;
    Caller caller = {check == Py_None ? NULL : check, NULL};
    job->vocabulary = &self->vocabulary;
    job->text = (const uint8_t *)utf8 + start;
    job->size = (size_t)size;
    if (caller.check)
        job->poll = (Poll){ask, &caller};
    job->memory = take_memory(self);
    enum Outcome outcome = NO_MEMORY;
    if (job->memory && !(job->wants_ids && memory_remember_ids(job->memory))) {
        if (size > RELEASE_BEYOND) {
            caller.released = PyEval_SaveThread();
            outcome = self->family->scan(job);
            PyEval_RestoreThread(caller.released);
        } else {
            outcome = self->family->scan(job);
        }
    }
    if (job->memory)
        give_back(self, job->memory);
    if (outcome == NO_MEMORY)
        PyErr_NoMemory();
    return outcome == DONE ? 0 : outcome == BEYOND_LIMIT ? 1 : -1;
}

static int run(VocabularyObject *self, PyObject *text, PyObject *check, Job *job)
{
    return run_part(self, text, 0, PY_SSIZE_T_MAX, check, job);
}

static PyObject *vocabulary_count(VocabularyObject *self, PyObject *args)
{
    PyObject *text, *check = Py_None;
    Py_ssize_t start = 0, end = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTuple(args, "U|Onn:count", &text, &check, &start, &end))
        return NULL;
    Job job = {.limit = UINT64_MAX};
    return run_part(self, text, start, end, check, &job) < 0 ? NULL : PyLong_FromUnsignedLongLong(job.count);
}

static PyObject *vocabulary_count_within(VocabularyObject *self, PyObject *args)
{
    PyObject *text, *check = Py_None;
    unsigned long long limit;
    if (!PyArg_ParseTuple(args, "UK|O:count_within", &text, &limit, &check))
        return NULL;
    Job job = {.limit = limit};
    int result = run(self, text, check, &job);
    if (result == 1)
        Py_RETURN_NONE;
    return result < 0 ? NULL : PyLong_FromUnsignedLongLong(job.count);
}

/* Appends a number; 0, or -1 with an exception set. */
static int append(PyObject *list, size_t number)
{
    PyObject *value = PyLong_FromSize_t(number);
    int failed = !value || PyList_Append(list, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

static size_t find_cut(const VocabularyObject *self, const char *utf8, Py_ssize_t size, Py_ssize_t low, Py_ssize_t high)
{
    const uint8_t *text = (const uint8_t *)utf8;
    return last_cut(self->cuts, &self->vocabulary.kinds, text, (size_t)size, (size_t)low, (size_t)high);
}

static PyObject *vocabulary_borders(VocabularyObject *self, PyObject *args)
{
    PyObject *text;
    Py_ssize_t size, step;
    if (!PyArg_ParseTuple(args, "Un:borders", &text, &step))
        return NULL;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    PyObject *borders = utf8 ? PyList_New(0) : NULL;
    step = step > 4 ? step : 4; /* more than any one character */
    for (Py_ssize_t seen = 0, at = 0; borders && seen < size; seen = at) {
        at = step < size - seen ? seen + step : size;
        while (continues(utf8, at, size))
            at--;
        size_t cut = find_cut(self, utf8, size, seen, at);
        if (cut > (size_t)seen && append(borders, cut))
            Py_CLEAR(borders);
    }
    return borders;
}

static PyObject *vocabulary_cut(VocabularyObject *self, PyObject *args)
{
    PyObject *text;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "U:cut", &text))
        return NULL;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (!utf8)
        return NULL;
    Py_ssize_t last = size;
    while (last && continues(utf8, --last, size))
        ;
    size_t cut = last ? find_cut(self, utf8, size, 0, last) : 0;
    Py_ssize_t points = cut ? PyUnicode_GetLength(text) : 0;
    for (Py_ssize_t at = cut ? (Py_ssize_t)cut : size; at < size; at++)
        points -= !continues(utf8, at, size);
    return PyLong_FromSsize_t(points);
}

static PyObject *vocabulary_fits(VocabularyObject *self, PyObject *args)
{
    PyObject *text;
    unsigned long long limit;
    if (!PyArg_ParseTuple(args, "UK:fits", &text, &limit))
        return NULL;
    Job job = {.limit = limit};
    int result = run(self, text, Py_None, &job);
    return result < 0 ? NULL : PyBool_FromLong(result == 0);
}

static PyObject *vocabulary_encode(VocabularyObject *self, PyObject *args)
{
    PyObject *text, *check = Py_None, *ids = NULL;
    unsigned long long offset = 0;
    if (!PyArg_ParseTuple(args, "U|KO:encode", &text, &offset, &check))
        return NULL;
    Job job = {.limit = UINT64_MAX, .wants_ids = true};
    if (run(self, text, check, &job) == 0 && (ids = PyList_New((Py_ssize_t)job.count)) != NULL) {
        for (uint64_t i = 0; i < job.count; i++) {
            PyObject *id = PyLong_FromUnsignedLongLong(job.ids[i] + offset);
            if (!id || PyList_SetItem(ids, (Py_ssize_t)i, id) < 0) {
                Py_CLEAR(ids);
                break;
            }
        }
    }
    free(job.ids);
    return ids;
}

static PyObject *vocabulary_bytes_of(VocabularyObject *self, PyObject *rank)
{
    unsigned long long number = PyLong_AsUnsignedLongLong(rank);
    if (number == (unsigned long long)-1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return NULL;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    const Token *token = number < NO_RANK ? vocabulary_token(&self->vocabulary, (uint32_t)number) : NULL;
    if (!token)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)self->vocabulary.bytes + token->offset, (Py_ssize_t)token->size);
}

static int refuse(enum BuildError error)
{
    static const char *const messages[] = {
        [MALFORMED] = "the rank file is malformed",
        [REPEATED] = "the rank file repeats a token or a rank",
        [TOO_LONG] = "a token is longer than 65,535 bytes",
        [TOO_MANY] = "the rank file has more than 1,048,574 tokens",
        [LACKS_BYTES] = "the rank file lacks single bytes",
    };
    if (error == OUT_OF_MEMORY)
        PyErr_NoMemory();
    else
        PyErr_SetString(PyExc_ValueError, messages[error]);
    return -1;
}

static int build(VocabularyObject *self, const char *family, const char *ranks, Py_ssize_t ranks_size,
                 const char *classes, Py_ssize_t classes_size)
{
    self->family = family_named(family);
    self->cuts = cut_rule_named(family);
    if (!self->family || !self->cuts) {
        PyErr_SetString(PyExc_ValueError, "no family of split patterns has that name");
        return -1;
    }
    if (classes_size != CODE_POINTS) {
        PyErr_SetString(PyExc_ValueError, "the classes must have one byte for every code point");
        return -1;
    }
    enum BuildError error = OUT_OF_MEMORY;
    Py_BEGIN_ALLOW_THREADS
    if (!kinds_build(&self->vocabulary.kinds, (const uint8_t *)classes, self->family->as_kind))
        error = vocabulary_build(&self->vocabulary, (const uint8_t *)ranks, (size_t)ranks_size);
    Py_END_ALLOW_THREADS
    return error == BUILT ? 0 : refuse(error);
}

static PyObject *vocabulary_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *family, *ranks, *classes;
    Py_ssize_t ranks_size, classes_size;
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Vocabulary takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "sy#y#:Vocabulary", &family, &ranks, &ranks_size, &classes, &classes_size))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    VocabularyObject *self = (VocabularyObject *)allocate(type, 0); /* all zeros */
    if (self && build(self, family, ranks, ranks_size, classes, classes_size))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void vocabulary_dealloc(VocabularyObject *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    while (self->kept_count)
        memory_free(self->kept[--self->kept_count]);
    vocabulary_free(&self->vocabulary);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *vocabulary_size(VocabularyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(self->vocabulary.count);
}

static PyObject *vocabulary_highest(VocabularyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(self->vocabulary.tokens[self->vocabulary.count - 1].rank);
}

static PyMethodDef methods[] = {
    {"count", (PyCFunction)(void (*)(void))vocabulary_count, METH_VARARGS,
     "count(text, check=None, start=0, end=...) -> int"},
    {"count_within", (PyCFunction)(void (*)(void))vocabulary_count_within, METH_VARARGS,
     "count_within(text, limit, check=None) -> int | None"},
    {"borders", (PyCFunction)(void (*)(void))vocabulary_borders, METH_VARARGS, "borders(text, step) -> list[int]"},
    {"cut", (PyCFunction)(void (*)(void))vocabulary_cut, METH_VARARGS, "cut(text) -> int"},
    {"fits", (PyCFunction)(void (*)(void))vocabulary_fits, METH_VARARGS, "fits(text, limit) -> bool"},
    {"encode", (PyCFunction)(void (*)(void))vocabulary_encode, METH_VARARGS,
     "encode(text, offset=0, check=None) -> list[int]"},
    {"bytes_of", (PyCFunction)(void (*)(void))vocabulary_bytes_of, METH_O, "bytes_of(rank) -> bytes | None"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"size", (getter)(void (*)(void))vocabulary_size, NULL, "number of tokens", NULL},
    {"highest_rank", (getter)(void (*)(void))vocabulary_highest, NULL, "greatest rank", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Vocabulary(family, rank_file, classes)"},
    {Py_tp_new, (void *)vocabulary_new},
    {Py_tp_dealloc, (void *)vocabulary_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {
    "adapters.native._core.Vocabulary",
    sizeof(VocabularyObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    slots,
};

static int execute(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type)
        return -1;
    int failed = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return failed || add_training_types(module) || add_pieces_type(module) ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "Counts and encodes with byte-pair vocabularies.", 0, NULL, module_slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
