/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "report.h"

void strings_add(struct strings *strings, const char *item) {
  strings->items = need_memory(strings->items, ((size_t)strings->n + 1) * sizeof *strings->items);
  strings->items[strings->n++] = item;
}

void strings_split(struct strings *strings, const char *text) {
  char *out = strings->pieces = need_memory(NULL, strlen(text) + 1);
  strings_add(strings, out);
  for (; *text != '\0'; text++) {
    if (*text == ',') {
      *out++ = '\0';
      strings_add(strings, out);
      continue;
    }
    if (text[0] == '\\' && text[1] == ',') text++;
    *out++ = *text;
  }
  *out = '\0';
}

void strings_free(struct strings *strings) {
  free(strings->items);
  free(strings->pieces);
  *strings = (struct strings){0};
}

bool parse_number(const char *text, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || isspace((unsigned char)*text)) return false;
  *out = value;
  return true;
}

/* What stands behind the digits; 0 = nothing that is known. */
static double unit_of(const char *text) {
  static const char letters[] = "kmgtp";
  if (*text == '\0' || strcmp(text, "B") == 0) return 1;
  const char *found = strchr(letters, tolower((unsigned char)*text));
  if (found == NULL || *found == '\0') return 0;
  bool decimal = strcmp(text + 1, "B") == 0;
  if (!decimal && text[1] != '\0' && strcmp(text + 1, "iB") != 0) return 0;
  double unit = 1;
  for (long i = 0; i <= found - letters; i++) unit *= decimal ? 1000 : 1024;
  return unit;
}

bool parse_size(const char *text, uint64_t *out) {
  char *end;
  if (!isdigit((unsigned char)*text)) return false;
  double value = strtod(text, &end);
  while (*end == ' ') end++;
  double unit = unit_of(end);
  if (unit == 0 || !(value * unit < 9.2e18)) return false;
  *out = (uint64_t)(value * unit);
  return true;
}

static void print_wrapped(const char *text, int indent) {
  enum { WIDTH = 100 };
  int column = indent;
  while (*text != '\0') {
    size_t word = strcspn(text, " ");
    if (column > indent && column + 1 + (int)word > WIDTH) {
      printf("\n%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      putchar(' ');
      column++;
    }
    printf("%.*s", (int)word, text);
    column += (int)word;
    text += word;
    while (*text == ' ') text++;
  }
  putchar('\n');
}

static void print_option(const struct option *option) {
  char head[64];
  const char *argument = option->kind == OPTION_FLAG ? "" : option->argument;
  if (option->letter != 0 && option->name != NULL) {
    snprintf(head, sizeof head, "  -%c, --%s %s", option->letter, option->name, argument);
  } else if (option->letter != 0) {
    snprintf(head, sizeof head, "  -%c %s", option->letter, argument);
  } else {
    snprintf(head, sizeof head, "      --%s %s", option->name, argument);
  }
  enum { HELP_COLUMN = 30 };
  printf("%-*s", HELP_COLUMN, head);
  if (strlen(head) >= HELP_COLUMN) printf("\n%*s", HELP_COLUMN, "");
  print_wrapped(option->help, HELP_COLUMN);
}

void print_usage(const struct usage *usage) {
  printf("Usage: colshuf %s %s\n\n%s\n\n", usage->command, usage->arguments, usage->description);
  for (int i = 0; i < usage->n_options; i++) print_option(&usage->options[i]);
  static const struct option help = {"help", 'h', OPTION_FLAG, NULL, "show this", NULL, 0, 0};
  print_option(&help);
}

static const struct option *find_long(const struct usage *usage, const char *name, size_t size) {
  for (int i = 0; i < usage->n_options; i++) {
    const char *candidate = usage->options[i].name;
    if (candidate != NULL && strlen(candidate) == size && memcmp(candidate, name, size) == 0) return &usage->options[i];
  }
  return NULL;
}

static const struct option *find_letter(const struct usage *usage, char letter) {
  for (int i = 0; i < usage->n_options; i++) {
    if (usage->options[i].letter == letter) return &usage->options[i];
  }
  return NULL;
}

/* How the user named it, for messages. */
static const char *shown(const struct option *option) {
  static char place[64];
  if (option->name != NULL) {
    snprintf(place, sizeof place, "--%s", option->name);
  } else {
    snprintf(place, sizeof place, "-%c", option->letter);
  }
  return place;
}

static int set_number(const struct usage *usage, const struct option *option, const char *value) {
  int64_t number;
  if (!parse_number(value, &number) || number < option->least || number > option->most) {
    return fail_usage(usage->command, "%s %s is no number between %" PRId64 " and %" PRId64, shown(option), value, option->least,
                      option->most);
  }
  *(int64_t *)option->target = number;
  return GO_ON;
}

static int set_option(const struct usage *usage, const struct option *option, const char *value) {
  switch (option->kind) {
    case OPTION_FLAG:
      *(bool *)option->target = true;
      return GO_ON;
    case OPTION_TEXT:
      *(const char **)option->target = value;
      return GO_ON;
    case OPTION_LIST:
      strings_add(option->target, value);
      return GO_ON;
    case OPTION_SIZE:
      if (parse_size(value, option->target)) return GO_ON;
      return fail_usage(usage->command, "%s %s is no size such as 64M or 1GiB", shown(option), value);
    case OPTION_NUMBER:
      return set_number(usage, option, value);
  }
  return EXIT_USAGE;
}

/* The words of the command line still to be read. */
struct words {
  int argc;
  char **argv;
  int next;
};

static int take_option(const struct usage *usage, const struct option *option, const char *attached, struct words *words) {
  if (option->kind == OPTION_FLAG) {
    if (attached != NULL) return fail_usage(usage->command, "%s takes no value", shown(option));
    return set_option(usage, option, NULL);
  }
  if (attached == NULL && words->next == words->argc) {
    return fail_usage(usage->command, "%s wants a value: %s", shown(option), option->argument);
  }
  return set_option(usage, option, attached != NULL ? attached : words->argv[words->next++]);
}

static int refuse_long(const struct usage *usage, const char *word, size_t size) {
  struct nearest meant = {.word = word, .size = size};
  nearest_see(&meant, "help");
  for (int i = 0; i < usage->n_options; i++) {
    if (usage->options[i].name != NULL) nearest_see(&meant, usage->options[i].name);
  }
  if (meant.best == NULL) return fail_usage(usage->command, "there is no option --%.*s", (int)size, word);
  return fail_usage(usage->command, "there is no option --%.*s; did you mean --%s?", (int)size, word, meant.best);
}

static int take_long(const struct usage *usage, const char *word, struct words *words) {
  size_t size = strcspn(word, "=");
  const struct option *option = find_long(usage, word, size);
  if (option == NULL) return refuse_long(usage, word, size);
  return take_option(usage, option, word[size] == '=' ? word + size + 1 : NULL, words);
}

/* -n 5, -n5, and flags side by side: -ab */
static int take_letters(const struct usage *usage, const char *word, struct words *words) {
  for (; *word != '\0'; word++) {
    const struct option *option = find_letter(usage, *word);
    if (option == NULL) return fail_usage(usage->command, "there is no option -%c", *word);
    bool last = option->kind != OPTION_FLAG;
    int code = take_option(usage, option, last && word[1] != '\0' ? word + 1 : NULL, words);
    if (code != GO_ON || last) return code;
  }
  return GO_ON;
}

int parse_options(const struct usage *usage, int argc, char **argv, struct strings *arguments) {
  struct words words = {argc, argv, 0};
  bool options_end = false;
  while (words.next < argc) {
    char *word = argv[words.next++];
    int code = GO_ON;
    if (options_end || word[0] != '-' || word[1] == '\0') {
      strings_add(arguments, word);
    } else if (strcmp(word, "--") == 0) {
      options_end = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      print_usage(usage);
      return finish_stdout(EXIT_WELL);
    } else {
      code = word[1] == '-' ? take_long(usage, word + 2, &words) : take_letters(usage, word + 1, &words);
    }
    if (code != GO_ON) return code;
  }
  return GO_ON;
}
