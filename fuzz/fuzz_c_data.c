/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile C Data: the input decides a schema, and an array for it that is nearly right. What import or validation refuses must be refused
 * without reading outside; what passes the memory level must stand every kernel, and what they make must be valid again. Buffers are
 * exactly as large as validation is told.
 */
#include <stdlib.h>

#include "arrow/array.h"
#include "base/bytes.h"
#include "ipc/batch_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)         \
  do {                          \
    if (!(condition)) abort();  \
  } while (0)

enum { MOST_BLOCKS = 4096, MOST_SIZES = 2048, MOST_DEPTH = 5, MOST_SLOTS = 512, MOST_BYTES = 1 << 14 };

/* The input as a source of decisions: zeros when it is used up. Everything made from it lives until the end of the run. */
struct input {
  const uint8_t *data;
  size_t size;
  void *blocks[MOST_BLOCKS];
  size_t n_blocks;
};

static uint8_t take_byte(struct input *input) {
  if (input->size == 0) return 0;
  input->size--;
  return *input->data++;
}

static void take_bytes(struct input *input, void *out, size_t size) {
  for (size_t i = 0; i < size; i++) ((uint8_t *)out)[i] = take_byte(input);
}

static int64_t take_i64(struct input *input) {
  int64_t value;
  take_bytes(input, &value, sizeof value);
  return value;
}

/* A zeroed block of exactly size bytes; NULL when there are too many. */
static void *keep(struct input *input, size_t size) {
  if (input->n_blocks == MOST_BLOCKS) return NULL;
  return input->blocks[input->n_blocks++] = calloc(1, size == 0 ? 1 : size);
}

static void forget(struct input *input) {
  while (input->n_blocks > 0) free(input->blocks[--input->n_blocks]);
}

/* The heap of the kernels: it refuses beyond a budget, so that a few bytes cannot ask for the machine's memory. */
static size_t heap_used;
static void *heap_resize(void *ctx, void *pointer, size_t old_size, size_t new_size) {
  (void)ctx;
  if (heap_used - old_size + new_size > (size_t)1 << 26) return NULL;
  if (new_size == 0) {
    free(pointer);
    heap_used -= old_size;
    return NULL;
  }
  void *grown = realloc(pointer, new_size);
  if (grown != NULL) heap_used += new_size - old_size;
  return grown;
}
static const struct colshuf_allocator heap = {.resize = heap_resize};

static void mark_schema(struct ArrowSchema *schema) {
  schema->release = NULL;
}
static void mark_array(struct ArrowArray *array) {
  array->release = NULL;
}

static const char *const formats[] = {
    "n", "b", "c", "C", "s", "S", "i", "I", "l", "L", "e", "f", "g", "z", "Z", "vz", "u", "U", "vu", "d:9,2,32", "d:18,3,64", "d:38,4",
    "d:76,5,256", "w:0", "w:3", "w:16", "tdD", "tdm", "tts", "ttu", "tss:", "tsu:UTC", "tDn", "tiM", "tiD", "tin",
    "+l", "+L", "+vl", "+vL", "+w:0", "+w:1", "+w:3", "+s", "+s", "+m", "+ud:", "+ud:0", "+ud:0,1", "+us:5,7", "+us:3", "+r"};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

static const char *take_format(struct input *input) {
  uint8_t which = take_byte(input);
  if (which < 4 * N_FORMATS) return formats[which % N_FORMATS];
  char *text = keep(input, 17);
  if (text != NULL) take_bytes(input, text, which % 16);
  return text;
}

static int64_t usual_children(struct input *input, const char *format) {
  if (format == NULL || format[0] != '+') return 0;
  switch (format[1]) {
    case 's': return take_byte(input) % 4;
    case 'r': return 2;
    case 'u': return (strchr(format, ',') != NULL) + (format[4] != '\0');
    default: return 1;
  }
}

static struct ArrowSchema *make_schema(struct input *input, int depth, const char *format);

static void make_children(struct input *input, int depth, struct ArrowSchema *schema) {
  schema->n_children = depth == 0 ? 0 : usual_children(input, schema->format);
  if (take_byte(input) == 0xff) schema->n_children = take_byte(input) % 8 - 1;
  if (schema->n_children <= 0) return;
  schema->children = keep(input, (size_t)schema->n_children * sizeof *schema->children);
  bool map = schema->format != NULL && strcmp(schema->format, "+m") == 0;
  bool runs = schema->format != NULL && strcmp(schema->format, "+r") == 0;
  static const char *const ends[] = {"s", "i", "l"};
  for (int64_t i = 0; schema->children != NULL && i < schema->n_children; i++) {
    const char *format = map ? "+s" : runs && i == 0 ? ends[take_byte(input) % 3] : NULL;
    schema->children[i] = make_schema(input, depth - 1, format);
  }
}

/* format NULL: the input chooses. */
static struct ArrowSchema *make_schema(struct input *input, int depth, const char *format) {
  struct ArrowSchema *schema = keep(input, sizeof *schema);
  if (schema == NULL) return NULL;
  uint8_t odd = take_byte(input);
  schema->format = format != NULL ? format : take_format(input);
  schema->name = odd & 1 ? "name" : NULL;
  schema->flags = odd >> 1 & 7;
  schema->release = odd == 0xfd ? NULL : mark_schema;
  make_children(input, depth, schema);
  if (depth > 0 && odd >> 4 == 5) schema->dictionary = make_schema(input, depth - 1, NULL);
  return schema;
}

/* An array being made: sizes of all its buffers in the order of the walk. */
struct making {
  struct input *input;
  int64_t sizes[MOST_SIZES];
  int64_t n_sizes;
  bool hopeless; /* a dictionary is not valid, or there was no room: no kernel may see it */
};

static int64_t clamp(int64_t value, int64_t most) {
  return value < 0 ? 0 : value > most ? most : value;
}

/* Places that mostly rise by little. */
static void fill_places(struct input *input, uint8_t *out, int64_t size, int width, int64_t last) {
  for (int64_t i = 0; (i + 1) * width <= size; i++) {
    uint8_t step = take_byte(input);
    last = step < 0xf0 ? (int64_t)((uint64_t)last + (step & 3)) : take_i64(input);
    memcpy(out + i * width, &last, (size_t)width);
  }
}

static void fill_views(struct input *input, uint8_t *out, int64_t size) {
  for (int64_t i = 0; (i + 1) * 16 <= size; i++) {
    uint8_t kind = take_byte(input);
    if (kind >= 0xf0) take_bytes(input, out + 16 * i, 16);
    csf_store_i32(out + 16 * i, kind < 0xf0 ? kind % 24 : csf_load_i32(out + 16 * i));
    if (kind % 24 <= 12 || kind >= 0xf0) continue;
    csf_store_i32(out + 16 * i + 8, kind >> 7);
    csf_store_i32(out + 16 * i + 12, take_byte(input) % 16);
  }
}

static void fill_type_ids(struct input *input, const struct csf_field *field, uint8_t *out, int64_t size) {
  for (int64_t i = 0; i < size; i++) {
    uint8_t id = take_byte(input);
    out[i] = id >= 0xf8 || field->n_children == 0 ? id : (uint8_t)field->type_ids[id % field->n_children];
  }
}

static bool is_union(const struct csf_field *field) {
  return field->layout == CSF_LAYOUT_SPARSE_UNION || field->layout == CSF_LAYOUT_DENSE_UNION;
}

static bool is_wide(const struct csf_field *field) {
  return field->layout == CSF_LAYOUT_BINARY64 || field->layout == CSF_LAYOUT_LIST64 || field->layout == CSF_LAYOUT_LIST_VIEW64;
}

static bool has_places(const struct csf_field *field) {
  return field->layout >= CSF_LAYOUT_BINARY32 && field->layout <= CSF_LAYOUT_LIST_VIEW64 && field->layout != CSF_LAYOUT_VIEW;
}

/* Bytes that buffer i needs for n slots. */
static int64_t usual_size(const struct csf_field *field, int64_t i, int64_t n, int64_t last_place) {
  bool list_view = field->layout == CSF_LAYOUT_LIST_VIEW32 || field->layout == CSF_LAYOUT_LIST_VIEW64;
  if (is_union(field)) return i == 0 ? n : 4 * n;
  if (i == 0 || field->layout == CSF_LAYOUT_BITS) return (n + 7) / 8;
  if (field->layout == CSF_LAYOUT_FIXED) return n * field->width;
  if (field->layout == CSF_LAYOUT_VIEW) return i == 1 ? 16 * n : 40;
  if (i == 2 && !list_view) return last_place;
  return (n + !list_view) * (is_wide(field) ? 8 : 4);
}

static void fill(struct making *making, const struct csf_field *field, int64_t i, uint8_t *out, int64_t size, bool run_ends) {
  struct input *input = making->input;
  int width = is_wide(field) ? 8 : 4;
  if (is_union(field) && i == 0) fill_type_ids(input, field, out, size);
  else if (field->layout == CSF_LAYOUT_VIEW && i == 1) fill_views(input, out, size);
  else if (has_places(field) && i == 1) fill_places(input, out, size, width, 0);
  else if (run_ends && i == 1) fill_places(input, out, size, field->width, 1);
  else if (field->dictionary != NULL && i == 1) for (int64_t k = 0; k < size; k += field->width) out[k] = take_byte(input) % 8;
  else take_bytes(input, out, (size_t)size);
}

static int64_t last_place(const struct csf_field *field, const struct ArrowArray *array, int64_t size) {
  int64_t n = size / (is_wide(field) ? 8 : 4);
  if (n == 0 || array->buffers[1] == NULL) return 0;
  const uint8_t *at = array->buffers[1];
  return clamp(is_wide(field) ? csf_load_i64(at + 8 * (n - 1)) : csf_load_i32(at + 4 * (n - 1)), MOST_BYTES);
}

static void make_buffers(struct making *making, const struct csf_field *field, int64_t slots, bool run_ends, struct ArrowArray *array) {
  struct input *input = making->input;
  bool view = field->layout == CSF_LAYOUT_VIEW;
  int64_t n = array->n_buffers - view, places = 0;
  array->buffers = keep(input, (size_t)(array->n_buffers + 1) * sizeof *array->buffers);
  int64_t *table = view ? keep(input, (size_t)(n + 1) * sizeof *table) : NULL;
  if (array->buffers == NULL || (view && table == NULL) || making->n_sizes + n > MOST_SIZES) {
    making->hopeless = true;
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    uint8_t odd = take_byte(input);
    int64_t size = clamp(usual_size(field, i, slots, places), MOST_BYTES);
    if (odd >= 0xfc) size = odd == 0xff ? clamp(size - 1, MOST_BYTES) : odd == 0xfe ? 0 : take_byte(input);
    uint8_t *bytes = odd == 0xfb || (odd == 0xfa && i == 0) ? NULL : keep(input, (size_t)size);
    if (bytes == NULL) size = 0;
    else fill(making, field, i, bytes, size, run_ends);
    array->buffers[i] = bytes;
    making->sizes[making->n_sizes++] = size;
    if (has_places(field) && i == 1) places = last_place(field, array, size);
    if (view && i >= 2) table[i - 2] = odd == 0xf9 ? take_i64(input) : size;
  }
  if (view) array->buffers[n] = table;
}

static struct ArrowArray *make_array(struct making *making, const struct csf_field *field, int64_t rows, bool run_ends);

/* How many rows a child usually has. */
static int64_t child_rows(struct making *making, const struct csf_field *field, const struct ArrowArray *array, int64_t slots,
                          int64_t places_size) {
  switch (field->layout) {
    case CSF_LAYOUT_STRUCT:
    case CSF_LAYOUT_SPARSE_UNION: return slots;
    case CSF_LAYOUT_FIXED_LIST: return clamp(field->width, MOST_SLOTS) * slots;
    case CSF_LAYOUT_LIST32:
    case CSF_LAYOUT_LIST64: return last_place(field, array, places_size);
    default: return take_byte(making->input) % 16;
  }
}

static void make_values(struct making *making, const struct csf_field *field, struct ArrowArray *array) {
  struct making *values = keep(making->input, sizeof *values);
  if (values == NULL) {
    making->hopeless = true;
    return;
  }
  values->input = making->input;
  array->dictionary = make_array(values, field->dictionary, take_byte(making->input) % 16, false);
  struct csf_buffer_sizes known = {values->sizes, values->n_sizes};
  making->hopeless |= values->hopeless || array->dictionary == NULL ||
                      csf_array_validate(field->dictionary, array->dictionary, &known, CSF_VALIDATE_MEMORY, NULL) != COLSHUF_OK;
}

/* Numbers that are right for rows slots, or, seldom, anything. */
static void make_counts(struct input *input, const struct csf_field *field, int64_t rows, struct ArrowArray *array) {
  uint8_t odd = take_byte(input);
  array->offset = odd % 8 == 7 ? clamp(odd >> 4, rows) : 0;
  array->length = odd == 0xfe ? take_i64(input) : rows - array->offset;
  if (odd == 0xfd) array->offset = take_i64(input);
  array->null_count = odd % 3 == 0 || is_union(field) || field->layout == CSF_LAYOUT_RUN_END ? 0 : odd % 3 == 1 ? -1 : take_byte(input) % 9;
  array->n_buffers = csf_layout_n_buffers(field->layout) + (field->layout == CSF_LAYOUT_VIEW ? odd % 3 : 0);
  array->n_children = odd == 0xfc ? (int64_t)(take_byte(input) % 4) : field->n_children;
  array->release = odd == 0xfb ? NULL : mark_array;
}

static struct ArrowArray *make_array(struct making *making, const struct csf_field *field, int64_t rows, bool run_ends) {
  struct ArrowArray *array = keep(making->input, sizeof *array);
  if (array == NULL) return NULL;
  make_counts(making->input, field, rows, array);
  int64_t slots = clamp(rows, MOST_SLOTS), first = making->n_sizes;
  make_buffers(making, field, slots, run_ends, array);
  if (field->dictionary != NULL && take_byte(making->input) != 0xff) make_values(making, field, array);
  if (array->n_children == 0) return array;
  array->children = keep(making->input, (size_t)array->n_children * sizeof *array->children);
  int64_t places_size = first + 1 < making->n_sizes ? making->sizes[first + 1] : 0, runs = 0;
  for (int64_t i = 0; array->children != NULL && i < array->n_children && i < field->n_children; i++) {
    bool ends = field->layout == CSF_LAYOUT_RUN_END;
    int64_t n = ends && i > 0 ? runs : child_rows(making, field, array, slots, places_size);
    runs = n;
    array->children[i] = make_array(making, &field->children[i], n, ends && i == 0);
  }
  return array;
}

/* What a kernel has made: valid, and as deeply as its source was. */
static void check_made(const struct csf_field *field, struct ArrowArray *made, enum csf_validate_level level) {
  MUST(csf_array_validate(field, made, NULL, level, NULL) == COLSHUF_OK);
  made->release(made);
}

static void unpack(const struct csf_field *field, const struct ArrowArray *array) {
  struct ArrowArray made;
  if (csf_array_unpack_dictionaries(field, array, &heap, &made, NULL) == COLSHUF_OK) made.release(&made);
}

static void write_batch(const struct csf_field *root, const struct ArrowArray *array) {
  struct csf_batch_writer writer;
  struct csf_buffer out;
  csf_batch_writer_init(&writer, &heap);
  writer.max_body_size = (uint64_t)1 << 24;
  csf_buffer_init(&out, &heap);
  enum colshuf_status status = csf_batch_write(&writer, root, array, 0, array->length, &out, NULL);
  MUST(status == COLSHUF_OK || status == COLSHUF_LIMIT || status == COLSHUF_NO_MEMORY || status == COLSHUF_INVALID_ARGUMENT);
  csf_buffer_clear(&out);
  csf_batch_writer_clear(&writer);
}

static void run_kernels(struct input *input, const struct csf_field *root, const struct ArrowArray *array, enum csf_validate_level level) {
  int64_t rows[16], n = array->length == 0 ? 0 : 16, start = 0, length = array->length;
  for (int64_t i = 0; i < n; i++) rows[i] = take_byte(input) % array->length;
  struct ArrowArray made;
  if (csf_array_take(root, array, rows, n, &heap, &made, NULL) == COLSHUF_OK) {
    for (int64_t i = 0; i < n; i++) MUST(csf_array_equal(root, &made, i, array, rows[i], 1));
    check_made(root, &made, level);
  }
  if (csf_array_concat(root, &array, &start, &length, 1, &heap, &made, NULL) == COLSHUF_OK) {
    MUST(csf_array_equal(root, &made, 0, array, 0, length));
    check_made(root, &made, level);
  }
  unpack(root, array);
  write_batch(root, array);
}

static void try_array(struct input *input, const struct csf_schema *schema) {
  struct making *making = keep(input, sizeof *making);
  if (making == NULL) return;
  making->input = input;
  struct ArrowArray *array = make_array(making, &schema->root, take_byte(input) % 40, false);
  if (array == NULL) return;
  struct colshuf_error err;
  struct csf_buffer_sizes known = {making->sizes, making->n_sizes};
  int passed = 0;
  while (passed <= CSF_VALIDATE_FULL) {
    enum colshuf_status status = csf_array_validate(&schema->root, array, &known, (enum csf_validate_level)passed, &err);
    if (status != COLSHUF_OK) {
      MUST(status == COLSHUF_CORRUPT && err.status == status && err.message[0] != '\0');
      break;
    }
    passed++;
  }
  if (passed <= CSF_VALIDATE_MEMORY || making->hopeless || array->length > MOST_SLOTS) return;
  /* The import check trusts sizes, so it has its turn only now: released structs and null rows of the batch are left for it. */
  if (csf_array_import_check(&schema->root, array, &err) != COLSHUF_OK) return;
  /* Dictionaries are entered only without known sizes; at the memory level they have been seen to be right. */
  MUST(csf_array_validate(&schema->root, array, NULL, CSF_VALIDATE_MEMORY, &err) == COLSHUF_OK);
  bool full = csf_array_validate(&schema->root, array, NULL, CSF_VALIDATE_FULL, &err) == COLSHUF_OK;
  run_kernels(input, &schema->root, array, full ? CSF_VALIDATE_FULL : CSF_VALIDATE_MEMORY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct input input;
  input = (struct input){.data = data, .size = size};
  struct ArrowSchema *source = make_schema(&input, MOST_DEPTH, "+s");
  struct csf_schema *schema;
  struct colshuf_error err;
  if (csf_schema_import(source, &heap, NULL, &schema, &err) == COLSHUF_OK) {
    struct ArrowSchema exported;
    struct csf_schema *again;
    MUST(csf_field_export(&schema->root, &heap, &exported, &err) == COLSHUF_OK);
    MUST(csf_schema_import(&exported, &heap, NULL, &again, &err) == COLSHUF_OK);
    MUST(csf_field_equal(&schema->root, &again->root, CSF_MATCH_EXACT));
    exported.release(&exported);
    csf_schema_release(again);
    try_array(&input, schema);
    csf_schema_release(schema);
  }
  forget(&input);
  MUST(heap_used == 0);
  return 0;
}
