/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "nearest.h"
#include "options.h"
#include "report.h"

static const struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
} commands[] = {
    {"write", command_write, "Arrow data in, shuffle files out"},
    {"read", command_read, "partitions of shuffle files as Arrow, CSV or JSON"},
    {"cat", command_cat, "rows as a table"},
    {"head", command_head, "the first rows as a table"},
    {"stats", command_stats, "nulls, distinct values, minimum, maximum and bytes of each column"},
    {"convert", command_convert, "rows of any file to an Arrow stream, Arrow file, CSV or JSON"},
    {"extract", command_extract, "one partition to an Arrow file"},
    {"merge", command_merge, "many shuffle outputs to one"},
    {"repack", command_repack, "shuffle files again, with another codec or block size"},
    {"inspect", command_inspect, "partitions, blocks, schema, and where the bytes are"},
    {"verify", command_verify, "find what is broken, and where"},
    {"diff", command_diff, "whether two outputs hold the same rows"},
    {"clean", command_clean, "remove temporary files of killed processes"},
    {"bench", command_bench, "how fast blocks are decoded and encoded, and rows written"},
};

static int print_help(void) {
  printf("Usage: colshuf COMMAND ...\n\nColumnar shuffle files as Apache DataFusion Comet reads and writes them.\n\n");
  for (int i = 0; i < N_ELEMENTS(commands); i++) printf("  %-10s%s\n", commands[i].name, commands[i].summary);
  printf("\ncolshuf COMMAND --help tells more; so does man colshuf. \"-\" is standard input or output.\n"
         "Exit codes: 0 well, 1 the data is bad, 2 the call is wrong, 3 the machine refused (files, memory).\n");
  return finish_stdout(EXIT_WELL);
}

static int run_command(const char *name, int argc, char **argv) {
  struct nearest meant = {.word = name, .size = strlen(name)};
  for (int i = 0; i < N_ELEMENTS(commands); i++) {
    if (strcmp(name, commands[i].name) == 0) return commands[i].run(argc, argv);
    nearest_see(&meant, commands[i].name);
  }
  if (meant.best == NULL) return fail_usage("", "there is no command %s", name);
  return fail_usage("", "there is no command %s; did you mean %s?", name, meant.best);
}

static int run(int argc, char **argv) {
  const char *name = argc < 2 ? "" : argv[1];
  char help[] = "--help", *only_help[] = {help, NULL};
  if (argc < 2) return fail_usage("", "which command?");
  if (strcmp(name, "help") == 0 && argc == 3) return run_command(argv[2], 1, only_help);
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) return print_help();
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
    printf("colshuf %s\n", colshuf_version());
    return finish_stdout(EXIT_WELL);
  }
  return run_command(name, argc - 2, argv + 2);
}

/*
 * Where the caller closed one of the three standard descriptors, the next file that is opened would take its number, and what is printed
 * would go into that file. The place is taken by one that fails as a closed descriptor does: it is open the wrong way round.
 */
static void occupy_descriptors(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/* Text is shown as UTF-8 whatever the locale says; only its width comes from the C library. */
int main(int argc, char **argv) {
  occupy_descriptors();
  if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) setlocale(LC_CTYPE, "");
  catch_closed_pipe();
  int code = run(argc, argv);
  if (code == EXIT_CLOSED_PIPE) return die_of_closed_pipe();
  return code == EXIT_INTERRUPTED ? die_interrupted() : code;
}
