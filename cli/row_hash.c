/* SPDX-License-Identifier: Apache-2.0 */
#include "row_hash.h"

#include <math.h>
#include <string.h>

/* The halves of a 128-bit product mixed: every bit of both sides reaches every bit of the result. */
static uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 wide;
  wide product = (wide)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1b54a32d192ed03u);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const char *bytes, size_t size, uint64_t seed) {
  uint64_t hash = mix(seed, size);
  uint64_t words[2];
  for (; size >= 16; bytes += 16, size -= 16) {
    memcpy(words, bytes, 16);
    hash = mix(hash ^ words[0], words[1]);
  }
  words[0] = words[1] = 0;
  if (size > 0) memcpy(words, bytes, size);
  return mix(hash ^ words[0], words[1] + 1);
}

static uint64_t hash_real(double value, uint64_t seed) {
  uint64_t bits;
  if (isnan(value)) value = NAN;
  memcpy(&bits, &value, 8);
  return mix(seed, bits);
}

/* Decimals of every width with the same digits are the same: sign-extended to 256 bits. */
static uint64_t hash_decimal(const struct field *field, const struct ArrowArray *array, int64_t i, uint64_t seed) {
  unsigned char wide[32];
  const unsigned char *place = (const unsigned char *)array->buffers[1] + (array->offset + i) * field->width;
  memset(wide, (place[field->width - 1] & 0x80) != 0 ? 0xff : 0, sizeof wide);
  memcpy(wide, place, (size_t)field->width);
  return hash_bytes((const char *)wide, sizeof wide, seed);
}

static uint64_t hash_items(const struct field *field, const struct ArrowArray *array, int64_t i, uint64_t seed) {
  int64_t first, n;
  value_items(field, array, i, &first, &n);
  uint64_t hash = mix(seed, (uint64_t)n);
  for (int64_t k = 0; k < n; k++) hash = hash_value(&field->children[0], array->children[0], first + k, hash);
  return hash;
}

static uint64_t hash_struct(const struct field *field, const struct ArrowArray *array, int64_t i, uint64_t seed) {
  uint64_t hash = mix(seed, 3);
  for (int c = 0; c < field->n_children; c++) {
    hash = hash_value(&field->children[c], array->children[c], array->offset + i, hash);
  }
  return hash;
}

uint64_t hash_value(const struct field *field, const struct ArrowArray *array, int64_t i, uint64_t seed) {
  const char *bytes;
  int64_t size;
  if (!value_resolve(&field, &array, &i)) return mix(seed, 0x6e756c6c);
  switch (field->kind) {
    case KIND_FLOAT:
      return hash_real(value_real(field, array, i), seed);
    case KIND_DECIMAL:
      return hash_decimal(field, array, i, seed);
    case KIND_INTERVAL_MONTHS:
    case KIND_INTERVAL_DAY_TIME:
    case KIND_INTERVAL_MONTH_DAY_NANO:
      return hash_bytes((const char *)array->buffers[1] + (array->offset + i) * field->width, (size_t)field->width, seed);
    case KIND_STRUCT:
      return hash_struct(field, array, i, seed);
    default:
      break;
  }
  if (field->kind >= KIND_LIST) return hash_items(field, array, i, seed);
  if (field->kind >= KIND_FIXED_BINARY) {
    value_bytes(field, array, i, &bytes, &size);
    return hash_bytes(bytes, (size_t)size, seed);
  }
  return mix(seed, (uint64_t)value_integer(field, array, i) ^ 0x5bd1e995);
}

uint64_t hash_row(const struct field *root, const struct ArrowArray *batch, int64_t row) {
  uint64_t hash = 0x636f6c73;
  for (int c = 0; c < root->n_children; c++) hash = hash_value(&root->children[c], batch->children[c], batch->offset + row, hash);
  return hash;
}
