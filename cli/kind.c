/* SPDX-License-Identifier: Apache-2.0 */
#include "kind.h"

#include <string.h>

bool head_is_block(const unsigned char *head, size_t size) {
  static const char tags[4][5] = {"LZ4_", "ZSTD", "SNAP", "NONE"};
  if (size < 20) return false;
  for (int i = 0; i < 4; i++) {
    if ((head[16] & 0x7f) == (unsigned char)tags[i][0] && memcmp(head + 17, tags[i] + 1, 3) == 0) return true;
  }
  return false;
}

bool head_is_arrow(const unsigned char *head, size_t size) {
  return size >= 8 && (memcmp(head, "ARROW1", 6) == 0 || memcmp(head, "\xff\xff\xff\xff", 4) == 0);
}

static bool has_ending(const char *path, const char *ending) {
  size_t size = strlen(path), ending_size = strlen(ending);
  return size > ending_size && strcmp(path + size - ending_size, ending) == 0;
}

static bool is_text(const unsigned char *head, size_t size) {
  for (size_t i = 0; i < size; i++) {
    bool space = head[i] == '\n' || head[i] == '\r' || head[i] == '\t';
    if (head[i] == 0x7f || (head[i] < 0x20 && !space)) return false;
  }
  return size > 0;
}

struct file_kind kind_of_foreign(const char *path, const unsigned char *head, size_t size) {
  static const char other_format[] = "write it as an Arrow IPC file or stream first", packed[] = "unpack it first";
  static const struct {
    const char *magic;
    size_t size;
    struct file_kind kind;
  } magics[] = {
      {"PAR1", 4, {"a Parquet file", other_format}},
      {"PARE", 4, {"an encrypted Parquet file", other_format}},
      {"ORC", 3, {"an ORC file", other_format}},
      {"Obj\1", 4, {"an Avro file", other_format}},
      {"FEA1", 4, {"a Feather file of version 1", other_format}},
      {"\x1f\x8b", 2, {"a file packed by gzip", packed}},
      {"\x28\xb5\x2f\xfd", 4, {"a file packed by zstd", packed}},
      {"\x04\x22\x4d\x18", 4, {"a file packed by lz4", packed}},
      {"\xfd\x37zXZ", 5, {"a file packed by xz", packed}},
      {"BZh", 3, {"a file packed by bzip2", packed}},
      {"PK\3\4", 4, {"a zip archive", packed}},
  };
  if (head_is_block(head, size)) return (struct file_kind){0};
  if (has_ending(path, ".index")) return (struct file_kind){"the index of a shuffle output", "name its data file, NAME.data"};
  if (strstr(path, ".checksum.") != NULL) {
    return (struct file_kind){"the checksum file of a shuffle output", "name its data file, NAME.data"};
  }
  for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
    if (size >= magics[i].size && memcmp(head, magics[i].magic, magics[i].size) == 0) return magics[i].kind;
  }
  return is_text(head, size) ? (struct file_kind){"text", other_format} : (struct file_kind){0};
}
