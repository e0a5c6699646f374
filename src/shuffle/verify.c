/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One output checked: index against data, checksums, every block. What is wrong with a block is told when the checksum of its
 * partition is known, because that tells where the fault came from: bytes that changed after they were written, or a bad
 * writer.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "block/decoder.h"
#include "file/checksum.h"
#include "file/flip.h"
#include "file/output.h"
#include "shuffle/source.h"

enum { MOST_HELD = 32 };

/* Bytes of partitions with a wrong checksum in which a flipped bit is looked for: some tenths of a second. */
static const uint64_t MOST_SEARCHED = (uint64_t)64 << 20;

/* A block that is wrong, until its partition has been read. */
struct held_fault {
  enum colshuf_status status;
  int64_t block, offset;
  const char *guess; /* what it comes from, as far as the bytes tell */
  char problem[sizeof((struct colshuf_error *)NULL)->message];
};

enum verdict { NOT_COMPARED, SAME, DIFFERS };

struct verification {
  struct csf_source source;
  struct csf_buffer window;
  struct colshuf_block_decoder *decoder;
  void (*report)(void *ctx, const struct colshuf_fault *fault);
  void *ctx;
  struct colshuf_verify_summary *summary;
  const char *data_path;
  char *index_path; /* beside the data */
  size_t index_path_size;
  bool foreign_index;      /* the index does not belong to the data */
  int32_t partition;       /* that held faults are of */
  uint64_t blocks_before;  /* summary->blocks when it began */
  struct held_fault *held; /* MOST_HELD places */
  size_t n_held;
  uint64_t n_compared, n_differing; /* partitions with bytes */
  bool any_bad_block;
  uint64_t searched; /* bytes, of MOST_SEARCHED */
};

/* One flipped bit that explains a wrong checksum. */
struct flip {
  uint64_t offset; /* in the file; of the first such byte */
  uint64_t n;      /* such bytes, all in the same block */
  int bit;
  int64_t block;
  uint64_t block_offset;
};

static const char *const index_of_another_attempt =
    "the file holds whole blocks only: the index is of another attempt, or the data is";
static const char *const cut_off =
    "the data file ends inside a block: its writing was cut off (full disk, killed task), or a copy is incomplete";
static const char *const changed_bytes =
    "the bytes changed after they were written (disk, memory or network): fetch or compute this output again";
static const char *const bad_writer = "the bytes are as they were written: the writer made a bad block";
static const char *const changed_values =
    "the bytes changed after they were written, where only the checksum shows it: values may be wrong though every block can "
    "be read";
static const char *const changed_checksum =
    "every block can be read, and the checksums differ in one bit: the checksum file changed, not the data";
static const char *const no_block_here =
    "no block starts here: a block before it lost or gained bytes, or its header was overwritten";
static const char *const foreign_checksums =
    "every block can be read and no partition has its checksum: the checksum file is of another attempt or algorithm";

static void tell(struct verification *v, const struct colshuf_fault *fault) {
  v->summary->faults++;
  v->report(v->ctx, fault);
}

static void tell_of_file(struct verification *v, const char *path, enum colshuf_status status, const char *problem,
                         const char *diagnosis) {
  tell(v, &(struct colshuf_fault){.status = status,
                                  .path = path,
                                  .partition = -1,
                                  .block = -1,
                                  .offset = -1,
                                  .problem = problem,
                                  .diagnosis = diagnosis});
}

static bool is_zero(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

static bool is_codec_tag(const uint8_t *tag) {
  static const char tags[4][5] = {"LZ4_", "ZSTD", "SNAP", "NONE"};
  for (int i = 0; i < 4; i++) {
    if ((tag[0] & 0x7f) == tags[i][0] && memcmp(tag + 1, tags[i] + 1, 3) == 0) return true;
  }
  return false;
}

/* What the first bytes of a block that cannot be taken look like. */
static const char *guess_from_header(const struct verification *v, uint64_t offset) {
  uint8_t header[COLSHUF_BLOCK_HEADER_SIZE];
  if (v->source.data_size < offset || v->source.data_size - offset < sizeof header) return cut_off;
  if (csf_pread_all(v->source.fd, v->data_path, offset, header, sizeof header, NULL) != COLSHUF_OK) return NULL;
  if (is_zero(header, sizeof header)) return "zeros where a block should start: space that was set aside and never written";
  if (!is_codec_tag(header + 16)) return no_block_here;
  if (csf_load_u64(header) > v->source.data_size - offset) return cut_off;
  return NULL;
}

static const char *guess_from_status(enum colshuf_status status) {
  if (status == COLSHUF_UNSUPPORTED) return "a newer or another writer: this version does not know what it uses";
  if (status == COLSHUF_LIMIT) return "larger than the limits of this check allow";
  return "bytes that changed after they were written, or a bad writer: without a checksum file it cannot be told which";
}

static const char *diagnose(const struct verification *v, const struct held_fault *fault, enum verdict verdict) {
  if (fault->status != COLSHUF_CORRUPT) return guess_from_status(fault->status);
  if (v->foreign_index) return index_of_another_attempt;
  bool is_known = fault->guess != NULL && (fault->guess != no_block_here || verdict == NOT_COMPARED);
  if (is_known && verdict != SAME) return fault->guess;
  if (verdict == DIFFERS) return changed_bytes;
  return verdict == SAME ? bad_writer : guess_from_status(fault->status);
}

/* Tells what was held back of the partition. checksums: text about them to be added, or "". */
static void tell_held(struct verification *v, enum verdict verdict, const char *checksums) {
  for (size_t i = 0; i < v->n_held; i++) {
    struct held_fault *fault = &v->held[i];
    size_t used = strlen(fault->problem);
    if (checksums[0] != '\0') snprintf(fault->problem + used, sizeof fault->problem - used, "; %s", checksums);
    tell(v, &(struct colshuf_fault){.status = fault->status,
                                    .path = v->data_path,
                                    .partition = v->partition,
                                    .block = fault->block,
                                    .offset = fault->offset,
                                    .problem = fault->problem,
                                    .diagnosis = diagnose(v, fault, verdict)});
  }
  v->n_held = 0;
}

static void hold(struct verification *v, const struct csf_source_block *block, enum colshuf_status status, const char *problem,
                 const char *guess) {
  v->any_bad_block = true;
  if (v->n_held == MOST_HELD) tell_held(v, NOT_COMPARED, "");
  struct held_fault *fault = &v->held[v->n_held++];
  *fault =
      (struct held_fault){.status = status, .block = (int64_t)block->block, .offset = (int64_t)block->offset, .guess = guess};
  snprintf(fault->problem, sizeof fault->problem, "%s", problem);
}

/* The walk has come to another partition (or the end). */
static void change_partition(struct verification *v, int32_t partition) {
  if (partition == v->partition) return;
  tell_held(v, v->source.checksums != NULL ? SAME : NOT_COMPARED, "");
  v->partition = partition;
  v->blocks_before = v->summary->blocks;
}

static bool has_bytes(const struct verification *v, int32_t partition) {
  const uint64_t *offsets = v->source.index.offsets;
  return offsets != NULL && offsets[partition + 1] > offsets[partition];
}

/* The block of a partition that has a byte of the file. Headers before the byte are as they were: nothing else has changed. */
static bool find_block(const struct verification *v, int32_t partition, uint64_t byte, struct flip *flip) {
  uint64_t at = v->source.index.offsets[partition];
  for (int64_t block = 0; at <= byte; block++) {
    uint8_t bytes[COLSHUF_BLOCK_HEADER_SIZE];
    struct colshuf_block_header header = {0};
    bool in_header = byte - at < sizeof bytes;
    if (!in_header && (csf_pread_all(v->source.fd, v->data_path, at, bytes, sizeof bytes, NULL) != COLSHUF_OK ||
                       colshuf_block_header_read(bytes, sizeof bytes, &header, NULL) != COLSHUF_OK)) {
      return false;
    }
    if (in_header || byte - at < header.block_size) {
      flip->block = block;
      flip->block_offset = at;
      return true;
    }
    at += header.block_size;
  }
  return false;
}

/* Takes one more byte that may be the flipped one. False when it cannot be told any more in which block that is. */
static bool take_candidate(const struct verification *v, int32_t partition, uint64_t byte, struct flip *flip) {
  struct flip other = {0};
  if (!find_block(v, partition, byte, &other)) return false;
  if (flip->n++ > 0) return other.block == flip->block;
  flip->offset = byte;
  flip->block = other.block;
  flip->block_offset = other.block_offset;
  return true;
}

/* Whether one flipped bit explains that the checksum differs, in one block only. */
static bool find_flip(struct verification *v, int32_t partition, struct flip *flip) {
  const uint64_t *offsets = v->source.index.offsets;
  uint64_t size = offsets[partition + 1] - offsets[partition];
  if (v->foreign_index || size > MOST_SEARCHED - v->searched) return false;
  v->searched += size;
  struct csf_flips flips = csf_flips_find(v->source.algorithm, v->source.running, v->source.checksums[partition], size);
  *flip = (struct flip){.bit = flips.bit};
  for (uint64_t i = 0; i < flips.n; i++) {
    uint64_t byte = offsets[partition] + flips.byte + i * flips.stride;
    uint8_t now = 0;
    if (csf_pread_all(v->source.fd, v->data_path, byte, &now, 1, NULL) != COLSHUF_OK) return false;
    if (flips.value >= 0 && (now >> flips.bit & 1) != flips.value) continue;
    if (!take_candidate(v, partition, byte, flip)) return false;
  }
  return flip->n > 0;
}

/* What is wrong, with the flipped bit where there is one; in text. */
static void describe_mismatch(char *text, size_t size, const char *problem, const struct flip *flip) {
  if (flip == NULL) {
    snprintf(text, size, "%s", problem);
  } else if (flip->n == 1) {
    snprintf(text, size, "%s; one flipped bit explains it: bit %d of byte %" PRIu64 " of the file, in block %" PRId64, problem,
             flip->bit, flip->offset, flip->block);
  } else {
    snprintf(text, size, "%s; one flipped bit explains it: bit %d of one of %" PRIu64 " bytes in block %" PRId64, problem,
             flip->bit, flip->n, flip->block);
  }
}

static bool is_one_bit(uint32_t word) {
  return word != 0 && (word & (word - 1)) == 0;
}

/* The checksum of the partition differs. Where it has one block only, that is the one; else a flipped bit may tell. */
static void take_mismatch(struct verification *v, const struct csf_source_block *place, const char *problem) {
  int32_t partition = place->partition;
  v->n_differing += has_bytes(v, partition);
  struct flip flip;
  char text[sizeof((struct colshuf_error *)NULL)->message + 160];
  bool flipped = find_flip(v, partition, &flip), one_block = v->summary->blocks == v->blocks_before + 1;
  describe_mismatch(text, sizeof text, problem, flipped ? &flip : NULL);
  if (v->n_held > 0) {
    tell_held(v, DIFFERS, text);
    return;
  }
  bool in_checksum = !flipped && is_one_bit(v->source.running ^ v->source.checksums[partition]);
  const char *diagnosis = v->foreign_index ? index_of_another_attempt : in_checksum ? changed_checksum : changed_values;
  tell(v, &(struct colshuf_fault){.status = COLSHUF_CORRUPT,
                                  .path = v->data_path,
                                  .partition = partition,
                                  .block = flipped     ? flip.block
                                           : one_block ? 0
                                                       : -1,
                                  .offset = (int64_t)(flipped ? flip.block_offset : v->source.index.offsets[partition]),
                                  .problem = text,
                                  .diagnosis = diagnosis});
}

static bool is_fault_of_block(enum colshuf_status status) {
  return status == COLSHUF_CORRUPT || status == COLSHUF_LIMIT || status == COLSHUF_UNSUPPORTED;
}

static enum colshuf_status check_block(struct verification *v, const struct csf_source_block *block,
                                       struct colshuf_error *err) {
  struct ArrowArray batch;
  size_t consumed;
  v->summary->blocks++;
  v->summary->bytes += block->size;
  enum colshuf_status status = colshuf_block_decoder_view(v->decoder, block->data, block->size, &consumed, &batch, err);
  if (status == COLSHUF_OK) {
    v->summary->rows += (uint64_t)batch.length;
    batch.release(&batch);
  } else if (is_fault_of_block(status)) {
    hold(v, block, status, err->message, NULL);
    status = COLSHUF_OK;
  }
  return status;
}

/* Whether the data file is whole blocks from its first byte to its last. */
static bool is_whole(const struct verification *v) {
  struct csf_source source;
  struct csf_buffer window;
  struct csf_source_options options = {.window = &window, .ignore_index = true};
  csf_buffer_init(&window, NULL);
  struct colshuf_source spec = {.data_path = v->data_path};
  struct csf_source_block block;
  if (csf_source_open(&source, &spec, &options, NULL) != COLSHUF_OK) return false;
  enum colshuf_status status;
  do {
    status = csf_source_next(&source, &block, NULL);
  } while (status == COLSHUF_OK && block.size > 0);
  csf_source_close(&source);
  csf_buffer_clear(&window);
  return status == COLSHUF_OK;
}

/* One step of the walk; *done at the end. */
static enum colshuf_status check_next(struct verification *v, bool *done, struct colshuf_error *err) {
  struct csf_source_block block;
  enum colshuf_status status = csf_source_next(&v->source, &block, err);
  change_partition(v, block.partition);
  *done = status == COLSHUF_OK && block.size == 0;
  if (*done) return COLSHUF_OK;
  if (status == COLSHUF_OK) return check_block(v, &block, err);
  if (status == COLSHUF_CORRUPT && v->source.mismatched) {
    v->source.mismatched = false;
    take_mismatch(v, &block, err->message);
    return COLSHUF_OK;
  }
  if (!is_fault_of_block(status)) return status;
  if (!v->any_bad_block && v->source.index.offsets != NULL) v->foreign_index = v->foreign_index || is_whole(v);
  hold(v, &block, status, err->message, guess_from_header(v, block.offset));
  return csf_source_skip_checked(&v->source, err);
}

static enum colshuf_status check_blocks(struct verification *v, struct colshuf_error *err) {
  struct colshuf_error problem = {0};
  for (bool done = false; !done;) {
    enum colshuf_status status = check_next(v, &done, &problem);
    if (status != COLSHUF_OK) {
      if (err != NULL) *err = problem;
      return status;
    }
  }
  tell_held(v, v->source.checksums != NULL ? SAME : NOT_COMPARED, "");
  return COLSHUF_OK;
}

static void check_sizes(struct verification *v) {
  const struct colshuf_index_info *index = &v->source.index;
  if (index->offsets == NULL) return;
  uint64_t total = index->offsets[index->n_partitions], size = v->source.data_size;
  if (size == total) return;
  char problem[128];
  snprintf(problem, sizeof problem, "the data file has %" PRIu64 " bytes, the index says %" PRIu64, size, total);
  v->foreign_index = is_whole(v);
  const char *diagnosis = v->foreign_index ? index_of_another_attempt
                          : size < total
                              ? cut_off
                              : "bytes behind the last partition: another attempt was appended, or something else was";
  tell_of_file(v, v->data_path, COLSHUF_CORRUPT, problem, diagnosis);
}

static void count_compared(struct verification *v) {
  v->summary->partitions = v->source.index.offsets == NULL ? 1 : (uint64_t)v->source.index.n_partitions;
  for (int32_t p = 0; v->source.checksums != NULL && p < v->source.index.n_partitions; p++) v->n_compared += has_bytes(v, p);
}

/* Partitions above say which checksums differ; this says what they have in common. */
static void check_all_differ(struct verification *v) {
  if (v->n_compared < 2 || v->n_differing < v->n_compared || v->any_bad_block || v->foreign_index) return;
  char problem[128];
  snprintf(problem, sizeof problem, "the checksums of all %" PRIu64 " partitions differ (%s)", v->n_compared,
           csf_checksum_name(v->source.algorithm));
  char suffix[32];
  struct colshuf_allocator heap = csf_allocator(NULL);
  size_t size;
  snprintf(suffix, sizeof suffix, ".checksum.%s", csf_checksum_name(v->source.algorithm));
  char *path = csf_sibling_path(v->data_path, suffix, &heap, &size);
  tell_of_file(v, path != NULL ? path : v->data_path, COLSHUF_CORRUPT, problem, foreign_checksums);
  csf_free(&heap, path, size);
}

static enum colshuf_status open_data(struct verification *v, bool ignore_index, struct colshuf_error *err) {
  struct csf_source_options options = {.window = &v->window, .ignore_index = ignore_index};
  struct colshuf_source spec = {.data_path = v->data_path};
  return csf_source_open(&v->source, &spec, &options, err);
}

/* An index or a checksum file that cannot be used is told, and done without. */
static enum colshuf_status open_output(struct verification *v, struct colshuf_error *err) {
  struct colshuf_error problem = {0};
  enum colshuf_status status = open_data(v, false, &problem);
  if (status == COLSHUF_CORRUPT) {
    tell_of_file(v, v->index_path, status, problem.message, "no index, a damaged one, or one that is still being written");
    return open_data(v, true, err);
  }
  if (status == COLSHUF_OK) status = csf_source_load_checksums(&v->source, &problem);
  if (status == COLSHUF_CORRUPT) {
    tell_of_file(v, v->data_path, status, problem.message,
                 "the checksum file is of another output, or its writing was cut off");
    status = COLSHUF_OK;
  }
  if (status != COLSHUF_OK && err != NULL) *err = problem;
  return status;
}

static enum colshuf_status run(struct verification *v, const struct colshuf_limits *limits, struct colshuf_error *err) {
  struct colshuf_allocator heap = csf_allocator(NULL);
  struct colshuf_block_decoder_options options = {0};
  if (limits != NULL) options.limits = *limits;
  v->held = csf_alloc(&heap, MOST_HELD * sizeof *v->held);
  v->index_path = csf_sibling_path(v->data_path, ".index", &heap, &v->index_path_size);
  if (v->held == NULL || v->index_path == NULL) return csf_fail_memory(err, MOST_HELD * sizeof *v->held);
  CSF_TRY(colshuf_block_decoder_new(&options, &v->decoder, err));
  CSF_TRY(open_output(v, err));
  v->summary->checksum = v->source.checksums == NULL ? COLSHUF_CHECKSUM_NONE : v->source.algorithm;
  v->summary->has_index = v->source.index.offsets != NULL;
  count_compared(v);
  check_sizes(v);
  CSF_TRY(check_blocks(v, err));
  check_all_differ(v);
  return COLSHUF_OK;
}

static void ignore_fault(void *ctx, const struct colshuf_fault *fault) {
  (void)ctx;
  (void)fault;
}

enum colshuf_status colshuf_verify(const char *data_path, const struct colshuf_limits *limits,
                                   void (*report)(void *ctx, const struct colshuf_fault *fault), void *ctx,
                                   struct colshuf_verify_summary *summary, struct colshuf_error *err) {
  struct colshuf_allocator heap = csf_allocator(NULL);
  struct colshuf_verify_summary unwanted;
  if (data_path == NULL) return csf_fail(err, COLSHUF_INVALID_ARGUMENT, "no data file is named");
  struct verification v = {.source = {.fd = -1},
                           .report = report != NULL ? report : ignore_fault,
                           .ctx = ctx,
                           .summary = summary != NULL ? summary : &unwanted,
                           .data_path = data_path,
                           .partition = -2};
  *v.summary = (struct colshuf_verify_summary){.checksum = COLSHUF_CHECKSUM_NONE};
  csf_buffer_init(&v.window, NULL);
  enum colshuf_status status = run(&v, limits, err);
  csf_source_close(&v.source);
  csf_buffer_clear(&v.window);
  colshuf_block_decoder_free(v.decoder);
  csf_free(&heap, v.index_path, v.index_path_size);
  csf_free(&heap, v.held, MOST_HELD * sizeof *v.held);
  return status;
}
