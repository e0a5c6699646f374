/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over files and folders of files, so that a corpus is also an ordinary test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path, size_t size) {
  FILE *file = fopen(path, "rb");
  /* Exactly as large as the input, so that a sanitizer sees the first byte read past it. */
  uint8_t *data = malloc(size > 0 ? size : 1);
  if (file == NULL || data == NULL || fread(data, 1, size, file) != size) {
    fprintf(stderr, "cannot read %s\n", path);
    return -1;
  }
  fclose(file);
  LLVMFuzzerTestOneInput(data, size);
  free(data);
  return 1;
}

/* Number of inputs run; -1 when one cannot be read. */
static int run(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) {
    fprintf(stderr, "no %s\n", path);
    return -1;
  }
  if (!S_ISDIR(status.st_mode)) return run_file(path, (size_t)status.st_size);
  DIR *directory = opendir(path);
  if (directory == NULL) return -1;
  int total = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char child[4096];
    snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
    int n = run(child);
    if (n < 0) {
      closedir(directory);
      return -1;
    }
    total += n;
  }
  closedir(directory);
  return total;
}

int main(int argc, char **argv) {
  int total = 0;
  for (int i = 1; i < argc; i++) {
    int n = run(argv[i]);
    if (n < 0) return 1;
    total += n;
  }
  printf("%d inputs replayed\n", total);
  return total > 0 ? 0 : 1;
}
