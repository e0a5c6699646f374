/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: the input's strings, each ended by a NUL, are the words behind a command that has an option of every kind. Every
 * string is also read as each of the things that option values can be. Nothing is opened and nothing runs.
 */
#include "support.h"

#include "choices.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "report.h"

enum { MOST_WORDS = 64 };

static void keep_quiet(void) {
  static FILE *nowhere;
  if (nowhere != NULL) return;
  nowhere = fopen("/dev/null", "w");
  PROMISE(nowhere != NULL);
  stderr = nowhere; /* libFuzzer has taken the real one before */
  stdout = nowhere;
}

static void check_words(int n, char **words) {
  bool flag = false;
  const char *text = NULL;
  struct strings list = {0}, arguments = {0};
  uint64_t size = 0;
  int64_t number = 0;
  const struct option options[] = {
      {"flag", 'f', OPTION_FLAG, NULL, "a flag", &flag, 0, 0},
      {"text", 't', OPTION_TEXT, "TEXT", "a text", &text, 0, 0},
      {"list", 'l', OPTION_LIST, "TEXT", "a text, again and again", &list, 0, 0},
      {"size", 0, OPTION_SIZE, "SIZE", "a size", &size, 0, 0},
      {"number", 'n', OPTION_NUMBER, "N", "a number", &number, -5, 1000},
  };
  const struct usage usage = {"fuzz", "[WORDS]", "Takes words.", options, N_ELEMENTS(options)};
  int code = parse_options(&usage, n, words, &arguments);
  PROMISE(code == GO_ON || code == EXIT_WELL || code == EXIT_USAGE);
  PROMISE(arguments.n >= 0 && arguments.n <= n && list.n >= 0 && list.n <= n);
  if (code == GO_ON) PROMISE(number >= -5 && number <= 1000);
  strings_free(&list);
  strings_free(&arguments);
}

static void check_values(const char *word) {
  uint64_t size;
  int64_t number;
  int32_t first = 0, end = 0;
  enum colshuf_codec codec;
  int level;
  enum colshuf_checksum checksum;
  if (parse_size(word, &size)) PROMISE(word[0] != '\0');
  if (parse_number(word, &number)) PROMISE(word[0] != '\0');
  if (parse_partitions(word, &first, &end)) PROMISE(first >= 0 && first < end);
  (void)parse_codec("fuzz", word, &codec, &level);
  (void)parse_checksum("fuzz", word, &checksum);
  (void)check_output_name("fuzz", word);
  struct strings pieces = {0};
  strings_split(&pieces, word);
  PROMISE(pieces.n >= 1);
  size_t total = 0;
  for (int i = 0; i < pieces.n; i++) total += strlen(pieces.items[i]);
  PROMISE(total <= strlen(word));
  strings_free(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  keep_quiet();
  char *copy = malloc(size + 1), *words[MOST_WORDS + 1];
  PROMISE(copy != NULL);
  if (size > 0) memcpy(copy, data, size);
  copy[size] = '\0';
  int n = 0;
  for (size_t at = 0; at < size && n < MOST_WORDS; at += strlen(copy + at) + 1) words[n++] = copy + at;
  words[n] = NULL;
  for (int i = 0; i < n; i++) check_values(words[i]);
  check_words(n, words);
  free(copy);
  return 0;
}
