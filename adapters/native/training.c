/* The types of the extension module that train: WordCounts and Merges. */
#include "training.h"

#include "train.h"
#include "words.h"

typedef struct {
    PyObject *check; /* NULL or a callable that raises to end the work */
    PyThreadState *released;
} Asker;

static int ask(void *context)
{
    Asker *asker = context;
    PyEval_RestoreThread(asker->released);
    PyObject *answer = PyObject_CallObject(asker->check, NULL);
    int stopped = answer == NULL;
    Py_XDECREF(answer);
    asker->released = PyEval_SaveThread();
    return stopped;
}

static Poll poll_of(Asker *asker, PyObject *check)
{
    *asker = (Asker){check == Py_None ? NULL : check, NULL};
    return asker->check ? (Poll){ask, asker} : (Poll){NULL, NULL};
}

/* 0, or -1 with an exception set. */
static int finished(enum Outcome outcome)
{
    if (outcome == NO_MEMORY)
        PyErr_NoMemory();
    return outcome == DONE ? 0 : -1;
}

/* Marks an object as in use by this call, since its lock is released; -1 with an exception set if it is already. */
static int occupy(bool *busy)
{
    if (*busy) {
        PyErr_SetString(PyExc_RuntimeError, "another call is using this object");
        return -1;
    }
    *busy = true;
    return 0;
}

static PyObject *allocate(PyTypeObject *type, PyObject *keywords)
{
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "this type takes no keyword arguments");
        return NULL;
    }
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); /* all zeros */
}

static void release(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

#define UNSOUND "the words are too many, or are not what their sizes and their alphabet say"

/* Whether the words are what their sizes say, and made of the alphabet's symbols alone. */
static bool is_sound(const WordRow *words, uint32_t alphabet)
{
    uint64_t symbols = 0, weights = 0;
    for (size_t i = 0; i < words->count; i++) {
        symbols += words->lengths[i];
        if (!words->weights[i] || words->weights[i] > INT64_MAX - weights)
            return false;
        weights += words->weights[i];
    }
    if (symbols != words->symbol_count || symbols + words->count + 1 > MOST_SLOTS || alphabet >= MOST_SYMBOLS)
        return false;
    if (symbols && weights > INT64_MAX / symbols) /* so that no pair's count can overflow */
        return false;
    if (words->width == 1)
        return alphabet >= 256;
    for (size_t i = 0; i < words->symbol_count; i++) {
        uint32_t symbol;
        memcpy(&symbol, words->symbols + i * 4, 4);
        if (symbol >= alphabet)
            return false;
    }
    return true;
}

/* WordCounts */

typedef struct {
    PyObject_HEAD
    WordTable table;
    Kinds kinds;
    CountWords count;
    bool busy;
} WordCountsObject;

static PyObject *word_counts_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *name, *classes;
    Py_ssize_t size;
    WordCountsObject *self = (WordCountsObject *)allocate(type, keywords);
    if (!self)
        return NULL;
    if (!PyArg_ParseTuple(args, "sy#:WordCounts", &name, &classes, &size))
        goto failed;
    const Family *family = family_named(name);
    self->count = word_counter_named(name);
    if (!family || !self->count || size != CODE_POINTS) {
        PyErr_SetString(PyExc_ValueError, "no such family of split patterns, or not one class for every code point");
        goto failed;
    }
    if (kinds_build(&self->kinds, (const uint8_t *)classes, family->as_kind)) {
        PyErr_NoMemory();
        goto failed;
    }
    return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

static void word_counts_dealloc(WordCountsObject *self)
{
    words_free(&self->table);
    kinds_free(&self->kinds);
    release((PyObject *)self);
}

static PyObject *word_counts_add(WordCountsObject *self, PyObject *args)
{
    PyObject *text, *check = Py_None;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "U|O:add", &text, &check))
        return NULL;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (!utf8 || occupy(&self->busy))
        return NULL;
    Asker asker;
    Poll poll = poll_of(&asker, check);
    asker.released = PyEval_SaveThread();
    enum Outcome outcome = self->count(&self->table, &self->kinds, (const uint8_t *)utf8, (size_t)size, poll);
    PyEval_RestoreThread(asker.released);
    self->busy = false;
    if (finished(outcome))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *word_counts_add_words(WordCountsObject *self, PyObject *args)
{
    const char *bytes, *sizes, *counts;
    Py_ssize_t bytes_size, sizes_size, counts_size;
    if (!PyArg_ParseTuple(args, "y#y#y#:add_words", &bytes, &bytes_size, &sizes, &sizes_size, &counts, &counts_size))
        return NULL;
    const size_t count = (size_t)sizes_size / sizeof(uint32_t);
    const WordRow words = {(const uint8_t *)bytes, 1, (const uint32_t *)(const void *)sizes,
                           (const uint64_t *)(const void *)counts, count, (size_t)bytes_size};
    if ((size_t)sizes_size != count * sizeof(uint32_t) || (size_t)counts_size != count * sizeof(uint64_t) ||
        !is_sound(&words, 256)) {
        PyErr_SetString(PyExc_ValueError, UNSOUND);
        return NULL;
    }
    if (occupy(&self->busy))
        return NULL;
    enum Outcome outcome = words_add(&self->table, words.symbols, words.lengths, words.weights, count);
    self->busy = false;
    if (finished(outcome))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *word_counts_words(WordCountsObject *self, PyObject *unused)
{
    (void)unused;
    if (self->busy) {
        occupy(&self->busy);
        return NULL;
    }
    const WordTable *table = &self->table;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)table->size);
    PyObject *sizes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(table->count * sizeof(uint32_t)));
    PyObject *counts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(table->count * sizeof(uint64_t)));
    PyObject *result = NULL;
    if (bytes && sizes && counts) {
        words_write(table, (uint8_t *)PyBytes_AsString(bytes), (uint32_t *)(void *)PyBytes_AsString(sizes),
                    (uint64_t *)(void *)PyBytes_AsString(counts));
        result = PyTuple_Pack(3, bytes, sizes, counts);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(sizes);
    Py_XDECREF(counts);
    return result;
}

static PyMethodDef word_counts_methods[] = {
    {"add", (PyCFunction)(void (*)(void))word_counts_add, METH_VARARGS, "add(text, check=None) -> None"},
    {"add_words", (PyCFunction)(void (*)(void))word_counts_add_words, METH_VARARGS,
     "add_words(symbols, lengths, weights) -> None"},
    {"words", (PyCFunction)(void (*)(void))word_counts_words, METH_NOARGS, "words() -> tuple[bytes, bytes, bytes]"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot word_counts_slots[] = {
    {Py_tp_doc, "WordCounts(family, classes)"},
    {Py_tp_new, (void *)word_counts_new},
    {Py_tp_dealloc, (void *)word_counts_dealloc},
    {Py_tp_methods, word_counts_methods},
    {0, NULL},
};

static PyType_Spec word_counts_spec = {
    "adapters.native._core.WordCounts", sizeof(WordCountsObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    word_counts_slots,
};

/* Merges */

typedef struct {
    PyObject_HEAD
    Trainer trainer;
    bool busy, broken; /* broken: memory ran out within a merge */
} MergesObject;

static PyObject *merges_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *symbols, *lengths, *weights;
    Py_ssize_t symbols_size, lengths_size, weights_size;
    unsigned int width, alphabet;
    int first_seen;
    PyObject *check = Py_None;
    MergesObject *self = (MergesObject *)allocate(type, keywords);
    if (!self)
        return NULL;
    if (!PyArg_ParseTuple(args, "Iy#y#y#Ip|O:Merges", &width, &symbols, &symbols_size, &lengths, &lengths_size, &weights,
                          &weights_size, &alphabet, &first_seen, &check))
        goto failed;
    const size_t count = (size_t)lengths_size / sizeof(uint32_t);
    const WordRow words = {(const uint8_t *)symbols, width, (const uint32_t *)(const void *)lengths,
                           (const uint64_t *)(const void *)weights, count, (size_t)symbols_size / (width ? width : 1)};
    if ((width != 1 && width != 4) || symbols_size % width || (size_t)lengths_size != count * sizeof(uint32_t) ||
        (size_t)weights_size != count * sizeof(uint64_t) || !is_sound(&words, alphabet)) {
        PyErr_SetString(PyExc_ValueError, UNSOUND);
        goto failed;
    }
    self->trainer.first_seen = first_seen;
    Asker asker;
    Poll poll = poll_of(&asker, check);
    asker.released = PyEval_SaveThread();
    enum Outcome outcome = trainer_build(&self->trainer, &words, alphabet, poll);
    PyEval_RestoreThread(asker.released);
    if (finished(outcome))
        goto failed;
    return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

static void merges_dealloc(MergesObject *self)
{
    trainer_free(&self->trainer);
    release((PyObject *)self);
}

/* Begins a call that merges; -1 with an exception set if it cannot. */
static int begin(MergesObject *self)
{
    if (self->broken) {
        PyErr_SetString(PyExc_RuntimeError, "memory ran out before");
        return -1;
    }
    return occupy(&self->busy);
}

static PyObject *merges_run(MergesObject *self, PyObject *args)
{
    unsigned long long most;
    PyObject *check = Py_None;
    if (!PyArg_ParseTuple(args, "K|O:run", &most, &check) || begin(self))
        return NULL;
    size_t before = self->trainer.merge_count;
    Asker asker;
    Poll poll = poll_of(&asker, check);
    asker.released = PyEval_SaveThread();
    enum Outcome outcome = trainer_run(&self->trainer, most, poll);
    PyEval_RestoreThread(asker.released);
    self->busy = false;
    self->broken = outcome == NO_MEMORY;
    return finished(outcome) ? NULL : PyLong_FromSize_t(self->trainer.merge_count - before);
}

static PyObject *merges_repeat(MergesObject *self, PyObject *args)
{
    unsigned int left, right;
    unsigned long long frequency;
    bool fits = false;
    if (!PyArg_ParseTuple(args, "IIK:repeat", &left, &right, &frequency) || begin(self))
        return NULL;
    PyThreadState *released = PyEval_SaveThread();
    enum Outcome outcome = trainer_repeat(&self->trainer, (Merged){left, right, frequency}, &fits);
    PyEval_RestoreThread(released);
    self->busy = false;
    self->broken = outcome == NO_MEMORY;
    return finished(outcome) ? NULL : PyBool_FromLong(fits);
}

static PyObject *merges_made(MergesObject *self, PyObject *args)
{
    Py_ssize_t from;
    if (!PyArg_ParseTuple(args, "n:made", &from) || begin(self))
        return NULL;
    self->busy = false;
    Py_ssize_t count = (Py_ssize_t)self->trainer.merge_count;
    from = from < 0 || from > count ? count : from;
    PyObject *result = PyList_New(count - from);
    for (Py_ssize_t i = from; result && i < count; i++) {
        const Merged *merge = &self->trainer.merges[i];
        PyObject *row = Py_BuildValue("(IIK)", merge->left, merge->right, (unsigned long long)merge->frequency);
        if (!row || PyList_SetItem(result, i - from, row) < 0)
            Py_CLEAR(result);
    }
    return result;
}

static PyMethodDef merges_methods[] = {
    {"run", (PyCFunction)(void (*)(void))merges_run, METH_VARARGS, "run(most, check=None) -> int"},
    {"repeat", (PyCFunction)(void (*)(void))merges_repeat, METH_VARARGS, "repeat(left, right, frequency) -> bool"},
    {"made", (PyCFunction)(void (*)(void))merges_made, METH_VARARGS, "made(start) -> list[tuple[int, int, int]]"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot merges_slots[] = {
    {Py_tp_doc, "Merges(width, symbols, lengths, weights, alphabet, first_seen, check=None)"},
    {Py_tp_new, (void *)merges_new},
    {Py_tp_dealloc, (void *)merges_dealloc},
    {Py_tp_methods, merges_methods},
    {0, NULL},
};

static PyType_Spec merges_spec = {
    "adapters.native._core.Merges", sizeof(MergesObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    merges_slots,
};

int add_training_types(PyObject *module)
{
    PyType_Spec *specs[] = {&word_counts_spec, &merges_spec};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, specs[i], NULL);
        int failed = !type || PyModule_AddType(module, (PyTypeObject *)type);
        Py_XDECREF(type);
        if (failed)
            return -1;
    }
    return 0;
}
