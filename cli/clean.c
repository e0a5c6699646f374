/* SPDX-License-Identifier: Apache-2.0 */
/* colshuf clean */
#include <sys/stat.h>

#include "commands.h"
#include "json.h"
#include "options.h"
#include "report.h"

int command_clean(int argc, char **argv) {
  struct strings directories = {0};
  bool as_json = false;
  const struct option options[] = {{"json", 0, OPTION_FLAG, NULL, "figures as JSON", &as_json, 0, 0}};
  const struct usage usage = {"clean", "DIRECTORY...",
                              "Removes the temporary files (.NAME.PID-N.colshuf-tmp) that killed processes left; those in use stay.",
                              options, N_ELEMENTS(options)};
  int code = parse_options(&usage, argc, argv, &directories);
  if (code == GO_ON && directories.n == 0) code = fail_usage("clean", "no directory is named");
  uint64_t all = 0;
  for (int i = 0; i < directories.n && code == GO_ON; i++) {
    struct colshuf_error err = {0};
    uint64_t removed = 0;
    struct stat status_of;
    if (stat(directories.items[i], &status_of) == 0 && !S_ISDIR(status_of.st_mode)) {
      code = fail_with(EXIT_SYSTEM, "%s is no folder: name the folder that it is in", directories.items[i]);
      break;
    }
    enum colshuf_status status = colshuf_clean(directories.items[i], &removed, &err);
    all += removed;
    if (status != COLSHUF_OK) code = fail_error(status, &err, directories.items[i]);
  }
  strings_free(&directories);
  if (code != GO_ON) return code;
  if (as_json) {
    struct json json;
    json_start(&json, stdout);
    json_unsigned(&json, "removed", all);
    json_end(&json);
  } else {
    printf("%s temporary file%s removed\n", count_text(all), all == 1 ? "" : "s");
  }
  return finish_stdout(EXIT_WELL);
}
