/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all ArrowArrayStreams of colshuf have in common: where the last failure is kept, and how it is told. A stream is colshuf's
 * exactly when its get_last_error is csf_stream_last_error; then its private_data starts with a struct csf_stream.
 */
#ifndef CSF_ARROW_STREAM_H
#define CSF_ARROW_STREAM_H

#include "base/status.h"
#include "colshuf/arrow.h"

struct csf_stream {
  struct colshuf_error err; /* of the last call that failed; status OK = none yet */
};

/* The get_last_error of every stream: the text of the last failure, NULL before the first. */
const char *csf_stream_last_error(struct ArrowArrayStream *stream);

/* The errno value by which a C stream callback tells status (0 for OK); err gives the system's own for IO. */
int csf_stream_errno(enum colshuf_status status, const struct colshuf_error *err);

#endif
