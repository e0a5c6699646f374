/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the command line that stand for values of the library. Each parse_ returns GO_ON or an exit code, NULL being the default. */
#ifndef CLI_CHOICES_H
#define CLI_CHOICES_H

#include <colshuf/colshuf.h>

int parse_codec(const char *command, const char *text, enum colshuf_codec *codec, int *level); /* "zstd:3" */
int parse_checksum(const char *command, const char *text, enum colshuf_checksum *checksum);
int parse_compat(const char *command, const char *text, enum colshuf_compat *compat);
int parse_offsets(const char *command, const char *text, enum colshuf_offsets *offsets);
int parse_layout(const char *command, const char *text, enum colshuf_layout *layout);
int parse_rules(const char *command, const char *text, enum colshuf_rules *rules);

const char *codec_name(enum colshuf_codec codec);
const char *checksum_name(enum colshuf_checksum checksum);

/* The number of the only column of that name; a sentence and EXIT_USAGE when there is none, or several. */
int need_column(const char *command, const struct ArrowSchema *schema, const char *name, const char *place, int32_t *column);

/*
 * Columns of the schema by name: "a,b"; with_order also "a:desc:nulls-last,b". *keys is allocated. place names the schema in messages.
 */
int parse_keys(const char *command, const char *text, int with_order, const struct ArrowSchema *schema, const char *place,
               struct colshuf_key **keys, int32_t *n_keys);

#endif
