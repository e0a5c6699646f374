/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of murmur3.h over two vectors side by side: a hash is one long chain of dependent steps, longer than the
 * processor looks ahead. Rows left at the end go through the scalar kernels.
 *
 * Included once by each variant (murmur3_avx2.c, murmur3_avx512.c), which first says what one vector is and does:
 *   KERNEL, INLINE                   how a kernel and its parts are compiled
 *   vector, mask, HALF, LANES        of 32-bit lanes: HALF in a vector, LANES = 2 * HALF
 *   ROTATE, SHIFT_LEFT, SHIFT_RIGHT, SHIFT_SIGNED (v, bits)   macros, since bits must be a constant
 *   splat, load_one, store_one, exclusive, either, and_3, and_not_3, add, subtract, multiply, smaller, shift_signed_by
 *   chosen(m, x, y)                  x where m is set, else y
 *   more_than(v, least), any(m), lanes_of(bits), any_negative(v), largest_of(v)
 *   gather(data, at, m)              words at data + at where m is set, else 0; nothing is read elsewhere
 *   low_words, high_words (v, w)     halves of 64-bit lanes, in order
 *   load_low(place)                  the low 8 bytes of each of the 16-byte values there
 *   float_bits, double_bits (v, one_nan)
 *   high_product(v, w)               upper halves of the signed products
 *   validity_at(rows, i)             LANES bits from row i on; no byte is read that holds none of them
 */
#include "partition/murmur3.h"

struct pair {
  vector a;
  vector b;
};

INLINE struct pair load(const void *place) {
  return (struct pair){load_one(place), load_one((const uint8_t *)place + sizeof(vector))};
}

INLINE struct pair exclusive_pair(struct pair x, struct pair y) {
  return (struct pair){exclusive(x.a, y.a), exclusive(x.b, y.b)};
}

INLINE struct pair times(struct pair x, uint32_t factor) {
  return (struct pair){multiply(x.a, splat(factor)), multiply(x.b, splat(factor))};
}

#define ROTATED(x, bits) ((struct pair){ROTATE((x).a, bits), ROTATE((x).b, bits)})
#define FOLDED(x, bits) exclusive_pair(x, (struct pair){SHIFT_RIGHT((x).a, bits), SHIFT_RIGHT((x).b, bits)})

INLINE vector times_5_plus(vector h) {
  return add(add(h, splat(0xe6546b64u)), SHIFT_LEFT(h, 2));
}

INLINE struct pair mix_h1(struct pair h, struct pair k) {
  k = times(k, 0xcc9e2d51u);
  k = times(ROTATED(k, 15), 0x1b873593u);
  h = exclusive_pair(h, k);
  h = ROTATED(h, 13);
  return (struct pair){times_5_plus(h.a), times_5_plus(h.b)};
}

INLINE struct pair mix_end(struct pair h, struct pair size) {
  h = exclusive_pair(h, size);
  h = times(FOLDED(h, 16), 0x85ebca6bu);
  h = times(FOLDED(h, 13), 0xc2b2ae35u);
  return FOLDED(h, 16);
}

INLINE struct pair hash_int(struct pair value, struct pair h) {
  return mix_end(mix_h1(h, value), (struct pair){splat(4), splat(4)});
}

/* Two pairs hold LANES values of 64 bits, in order. */
INLINE struct pair hash_long(struct pair first, struct pair second, struct pair h) {
  struct pair low = {low_words(first.a, first.b), low_words(second.a, second.b)};
  struct pair high = {high_words(first.a, first.b), high_words(second.a, second.b)};
  return mix_end(mix_h1(mix_h1(h, low), high), (struct pair){splat(8), splat(8)});
}

/* Rows that are null keep their seed. */
INLINE void store(uint32_t *place, struct pair h, struct pair seed, const struct csf_rows *rows, size_t i) {
  if (rows->validity != NULL) {
    uint32_t valid = validity_at(rows, i);
    h = (struct pair){chosen(lanes_of(valid), h.a, seed.a), chosen(lanes_of(valid >> HALF), h.b, seed.b)};
  }
  store_one(place, h.a);
  store_one(place + HALF, h.b);
}

INLINE struct csf_rows rest_of(const struct csf_rows *rows, size_t i) {
  return (struct csf_rows){rows->validity, rows->bit + (int64_t)i, rows->n - i};
}

KERNEL void hash_ints(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair seed = load(seeds + i);
    store(h + i, hash_int(load(place + 4 * i), seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.ints(place + 4 * i, &rest, seeds + i, h + i);
}

KERNEL void hash_longs(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair first = load(place + 8 * i), second = load(place + 8 * i + sizeof first), seed = load(seeds + i);
    store(h + i, hash_long(first, second, seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.longs(place + 8 * i, &rest, seeds + i, h + i);
}

KERNEL void hash_decimals(const void *values, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  enum { STEP = 2 * sizeof(vector) }; /* 16-byte values whose low halves fill one vector */
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    const uint8_t *from = place + 16 * i;
    struct pair first = {load_low(from), load_low(from + STEP)};
    struct pair second = {load_low(from + 2 * STEP), load_low(from + 3 * STEP)};
    struct pair seed = load(seeds + i);
    store(h + i, hash_long(first, second, seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.decimals(place + 16 * i, &rest, seeds + i, h + i);
}

INLINE struct pair load_doubles(const uint8_t *place, bool one_nan) {
  struct pair bits = load(place);
  return (struct pair){double_bits(bits.a, one_nan), double_bits(bits.b, one_nan)};
}

KERNEL void hash_floats(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair bits = load(place + 4 * i), seed = load(seeds + i);
    bits = (struct pair){float_bits(bits.a, one_nan), float_bits(bits.b, one_nan)};
    store(h + i, hash_int(bits, seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.floats(place + 4 * i, &rest, one_nan, seeds + i, h + i);
}

KERNEL void hash_doubles(const void *values, const struct csf_rows *rows, bool one_nan, const uint32_t *seeds, uint32_t *h) {
  const uint8_t *place = values;
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct pair first = load_doubles(place + 8 * i, one_nan);
    struct pair second = load_doubles(place + 8 * i + sizeof first, one_nan);
    struct pair seed = load(seeds + i);
    store(h + i, hash_long(first, second, seed), seed, rows, i);
  }
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.doubles(place + 8 * i, &rest, one_nan, seeds + i, h + i);
}

/* One step for the strings that have a word or byte there; the others keep what they have. */
INLINE struct pair mix_where(mask a, mask b, struct pair h, struct pair k) {
  struct pair mixed = mix_h1(h, k);
  return (struct pair){chosen(a, mixed.a, h.a), chosen(b, mixed.b, h.b)};
}

/* The words of four bytes, while any of the strings has one. */
INLINE struct pair hash_words(const uint8_t *data, struct pair begin, struct pair size, uint32_t longest, struct pair h) {
  for (uint32_t at = 0; at + 4 <= longest; at += 4) {
    mask a = more_than(size.a, at + 3), b = more_than(size.b, at + 3);
    h = mix_where(a, b, h, (struct pair){gather(data + at, begin.a, a), gather(data + at, begin.b, b)});
  }
  return h;
}

/* The byte of each word that stands `left` bits below the top, sign-extended, for the strings with more than `least` bytes. */
#define MIX_BYTE(h, word, n, least, left)                        \
  mix_where(more_than((n).a, least), more_than((n).b, least), h, \
            (struct pair){SHIFT_SIGNED(SHIFT_LEFT((word).a, left), 24), SHIFT_SIGNED(SHIFT_LEFT((word).b, left), 24)})

/* The last 0 to 3 bytes of each. */
INLINE struct pair hash_tails(const uint8_t *data, struct pair begin, struct pair size, struct pair h) {
  struct pair n = {and_3(size.a), and_3(size.b)};
  mask a = more_than(n.a, 0), b = more_than(n.b, 0);
  if (!any(a) && !any(b)) return h;
  struct pair word = {gather(data, add(begin.a, and_not_3(size.a)), a), gather(data, add(begin.b, and_not_3(size.b)), b)};
  h = MIX_BYTE(h, word, n, 0, 24);
  h = MIX_BYTE(h, word, n, 1, 16);
  return MIX_BYTE(h, word, n, 2, 8);
}

INLINE uint32_t largest_of_pair(struct pair x) {
  uint32_t a = largest_of(x.a), b = largest_of(x.b);
  return a > b ? a : b;
}

/*
 * Strings side by side. The last bytes of a string are read as a word, up to three bytes past the string: where that could pass
 * the end of all data, and where a few strings are so long that the lanes of the others would idle, they go one by one.
 */
KERNEL void hash_strings(const struct csf_strings *strings, const struct csf_rows *rows, const uint32_t *seeds, uint32_t *h) {
  size_t i = 0;
  for (; i + LANES <= rows->n; i += LANES) {
    struct csf_strings some = csf_strings_from(strings, i);
    struct pair begin = load(some.begin), stop = load(some.stop), seed = load(seeds + i);
    struct pair size = {subtract(stop.a, begin.a), subtract(stop.b, begin.b)};
    uint32_t longest = largest_of_pair(size), last = largest_of_pair(stop);
    if (!csf_strings_suit_lanes(&some, longest, LANES) || (size_t)last + 3 > strings->end) {
      struct csf_rows few = {rows->validity, rows->bit + (int64_t)i, LANES};
      csf_murmur3_scalar.strings(&some, &few, seeds + i, h + i);
      continue;
    }
    struct pair hash = hash_words(some.data, begin, size, longest, seed);
    store(h + i, mix_end(hash_tails(some.data, begin, size, hash), size), seed, rows, i);
  }
  struct csf_strings left = csf_strings_from(strings, i);
  struct csf_rows rest = rest_of(rows, i);
  csf_murmur3_scalar.strings(&left, &rest, seeds + i, h + i);
}

INLINE vector remainder_of(vector h, const struct csf_divisor *by) {
  const vector divisor = splat(by->n);
  vector q = shift_signed_by(add(h, high_product(h, splat((uint32_t)by->multiplier))), by->shift);
  vector r = subtract(h, multiply(q, divisor));
  return smaller(r, subtract(r, divisor));
}

KERNEL void pmod(uint32_t *place, size_t n, const struct csf_divisor *by) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    struct pair h = load(place + i);
    struct pair r = {remainder_of(h.a, by), remainder_of(h.b, by)};
    store_one(place + i, r.a);
    store_one(place + i + HALF, r.b);
  }
  csf_murmur3_scalar.pmod(place + i, n - i, by);
}

KERNEL bool in_range(const int32_t *ids, size_t n, uint32_t limit) {
  const vector last = splat(limit - 1);
  vector fault = splat(0);
  size_t i = 0;
  for (; i + HALF <= n; i += HALF) {
    vector id = load_one(ids + i);
    fault = either(fault, either(id, subtract(last, id)));
  }
  return !any_negative(fault) && csf_murmur3_scalar.in_range(ids + i, n - i, limit);
}

#define MURMUR3_KERNELS(variant)                                                                               \
  {                                                                                                            \
    .name = variant, .ints = hash_ints, .longs = hash_longs, .decimals = hash_decimals, .floats = hash_floats, \
    .doubles = hash_doubles, .strings = hash_strings, .pmod = pmod, .in_range = in_range,                      \
  }
