/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands. Each gets the words behind its name and returns the exit code. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int command_write(int argc, char **argv);
int command_read(int argc, char **argv);
int command_cat(int argc, char **argv);
int command_head(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_extract(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_stats(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_repack(int argc, char **argv);
int command_clean(int argc, char **argv);
int command_bench(int argc, char **argv);

#endif
