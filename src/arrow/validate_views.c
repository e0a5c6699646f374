/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of views in full: spare bytes, prefixes, UTF-8 (formats.md B.11). Any number of views may mean the same bytes, so that looking at
 * the text of each could cost rows times bytes. Where the texts are more than the data that they lie in, the data is looked at instead, once:
 * what is well-formed as a whole is so in every part that starts and ends between characters. Where it is not (bytes that no view means may be
 * anything), an index of the places where it breaks answers for every view at once.
 */
#include "arrow/utf8.h"
#include "arrow/validate.h"

enum { INLINE_VIEW = 12 };

/* The bytes of a view behind an inline value of each length, in its two halves; they must be zero. */
static const uint64_t spare_low[INLINE_VIEW + 1] = {
    0xffffffff00000000, 0xffffff0000000000, 0xffff000000000000, 0xff00000000000000, 0, 0, 0, 0, 0, 0, 0, 0, 0};
static const uint64_t spare_high[INLINE_VIEW + 1] = {
    UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0xffffffffffffff00, 0xffffffffffff0000, 0xffffffffff000000,
    0xffffffff00000000, 0xffffff0000000000, 0xffff000000000000, 0xff00000000000000, 0};

/* Where one data buffer is not UTF-8; words NULL: it is. */
struct breaks {
  uint64_t *words;  /* a bit for each byte */
  uint32_t *before; /* how many bits are set in the words before each */
  size_t size;      /* of the allocation that both are in */
};

/* What is known of the data buffers. */
enum data_is { NOT_LOOKED_AT, ASCII, WELL_FORMED, BROKEN_SOMEWHERE };

struct views {
  const uint8_t *first;
  const void **data; /* the data buffers */
  const uint8_t *sizes;
  int64_t n_data;
  bool text; /* UTF-8 is demanded */
  enum data_is data_is;
  struct breaks *breaks; /* of each data buffer, where it is BROKEN_SOMEWHERE */
  struct colshuf_allocator allocator;
};

static int64_t data_size(const struct views *views, int64_t b) {
  return csf_load_i64(views->sizes + 8 * b);
}

static bool continues(uint8_t byte) {
  return (byte & 0xc0) == 0x80;
}

static uint32_t breaks_before(const struct breaks *breaks, size_t i) {
  uint64_t below = breaks->words[i / 64] & ((UINT64_C(1) << i % 64) - 1);
  return breaks->before[i / 64] + (uint32_t)__builtin_popcountll(below);
}

/* Whether the last character of a text that starts with one is all there. */
static bool ends_whole(const uint8_t *text, size_t size) {
  size_t last = size - 1;
  while (last > 0 && size - last < 4 && continues(text[last])) last--;
  return csf_utf8_valid(text + last, size - last);
}

/* Of text [offset, offset + length) of a data buffer that has been looked at. length > 0 */
static bool part_is_well_formed(const struct views *views, uint32_t buffer, size_t offset, size_t length) {
  const uint8_t *text = views->data[buffer];
  if (continues(text[offset])) return false;
  const struct breaks *breaks = views->data_is == BROKEN_SOMEWHERE ? &views->breaks[buffer] : NULL;
  if (breaks == NULL || breaks->words == NULL) return offset + length == (size_t)data_size(views, buffer) || !continues(text[offset + length]);
  return breaks_before(breaks, offset) == breaks_before(breaks, offset + length) && ends_whole(text + offset, length);
}

static const char *check_inline(const struct views *views, const uint8_t *view, uint32_t length) {
  uint64_t low = csf_load_u64(view), high = csf_load_u64(view + 8);
  if (((low & spare_low[length]) | (high & spare_high[length])) != 0) return "spare bytes are not zero";
  /* The length is ASCII too. */
  if (!views->text || ((low | high) & 0x8080808080808080u) == 0) return NULL;
  return csf_utf8_valid(view + 4, length) ? NULL : "is not UTF-8";
}

static const char *check_far(const struct views *views, const uint8_t *view, uint32_t length) {
  uint32_t buffer = csf_load_u32(view + 8), offset = csf_load_u32(view + 12);
  const uint8_t *data = (const uint8_t *)views->data[buffer] + offset;
  if (csf_load_u32(data) != csf_load_u32(view + 4)) return "prefix is not that of its data";
  if (!views->text || views->data_is == ASCII) return NULL;
  bool good = views->data_is == NOT_LOOKED_AT ? csf_utf8_valid(data, length) : part_is_well_formed(views, buffer, offset, length);
  return good ? NULL : "is not UTF-8";
}

/* One look at the whole of the data buffers is cheaper than one at each text, unless only little of them is used. */
static bool whole_is_cheaper(const struct views *views, int64_t n) {
  int64_t used = 0, size = 0;
  for (int64_t i = 0; i < views->n_data; i++) size += data_size(views, i) / 4;
  for (int64_t i = 0; i < n && used < size; i++) {
    uint32_t length = csf_load_u32(views->first + 16 * i);
    used += length > INLINE_VIEW ? length : 0;
  }
  return used >= size;
}

/* Bytes that views can reach: their offsets and lengths are less than 2^31 each. */
static size_t reachable_size(const struct views *views, int64_t b) {
  int64_t size = data_size(views, b);
  return size > UINT32_MAX ? (size_t)UINT32_MAX : (size_t)size;
}

static enum colshuf_status find_breaks(const struct views *views, int64_t b, struct colshuf_error *err) {
  struct breaks *breaks = &views->breaks[b];
  size_t size = reachable_size(views, b), n_words = size / 64 + 1;
  breaks->size = n_words * (sizeof(uint64_t) + sizeof(uint32_t));
  breaks->words = csf_alloc_zero(&views->allocator, breaks->size);
  if (breaks->words == NULL) return csf_fail_memory(err, breaks->size);
  breaks->before = (uint32_t *)(void *)(breaks->words + n_words);
  csf_utf8_mark_bad(views->data[b], size, breaks->words);
  uint32_t n = 0;
  for (size_t i = 0; i < n_words; i++) {
    breaks->before[i] = n;
    n += (uint32_t)__builtin_popcountll(breaks->words[i]);
  }
  return COLSHUF_OK;
}

static size_t breaks_size(const struct views *views) {
  return (size_t)views->n_data * sizeof *views->breaks;
}

static void free_breaks(struct views *views) {
  for (int64_t b = 0; views->breaks != NULL && b < views->n_data; b++) csf_free(&views->allocator, views->breaks[b].words, views->breaks[b].size);
  csf_free(&views->allocator, views->breaks, breaks_size(views));
}

/* The data buffers from the first broken one on are looked at again, to find out where they break. */
static enum colshuf_status index_breaks(struct views *views, int64_t first, struct colshuf_error *err) {
  views->data_is = BROKEN_SOMEWHERE;
  views->breaks = csf_alloc_zero(&views->allocator, breaks_size(views));
  if (views->breaks == NULL) return csf_fail_memory(err, breaks_size(views));
  for (int64_t b = first; b < views->n_data; b++) {
    if (b > first && csf_utf8_valid(views->data[b], (size_t)data_size(views, b))) continue;
    CSF_TRY(find_breaks(views, b, err));
  }
  return COLSHUF_OK;
}

static enum colshuf_status look_at_data(struct views *views, struct colshuf_error *err) {
  views->data_is = ASCII;
  for (int64_t b = 0; b < views->n_data; b++) {
    enum csf_utf8 found = csf_utf8_check(views->data[b], (size_t)data_size(views, b));
    if (found == CSF_UTF8_BROKEN) return index_breaks(views, b, err);
    if (found == CSF_UTF8_WIDE) views->data_is = WELL_FORMED;
  }
  return COLSHUF_OK;
}

static enum colshuf_status check_rows(const struct csf_place *at, const struct views *views) {
  const uint8_t *view = views->first;
  for (int64_t i = 0; i < at->array->length; i++, view += 16) {
    uint32_t length = csf_load_u32(view);
    const char *fault = length <= INLINE_VIEW ? check_inline(views, view, length) : check_far(views, view, length);
    if (fault != NULL) return CSF_FAIL_AT(at, COLSHUF_CORRUPT, "row %" PRId64 ": view of %" PRIu32 " bytes: %s", i, length, fault);
  }
  return COLSHUF_OK;
}

enum colshuf_status csf_validate_views(const struct csf_place *at) {
  const struct ArrowArray *array = at->array;
  struct views views = {
      .first = (const uint8_t *)array->buffers[1] + array->offset * 16,
      .data = &array->buffers[2],
      .sizes = array->buffers[array->n_buffers - 1],
      .n_data = array->n_buffers - 3,
      .text = at->field->type == CSF_UTF8_VIEW,
      .allocator = csf_allocator(at->validation->allocator),
  };
  enum colshuf_status status = COLSHUF_OK;
  if (views.text && whole_is_cheaper(&views, array->length)) status = look_at_data(&views, at->validation->err);
  if (status == COLSHUF_OK) status = check_rows(at, &views);
  free_breaks(&views);
  return status;
}
