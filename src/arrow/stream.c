/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/stream.h"

#include <errno.h>

#include "colshuf/ipc.h"

const char *csf_stream_last_error(struct ArrowArrayStream *stream) {
  const struct csf_stream *common = stream->private_data;
  return common == NULL || common->err.status == COLSHUF_OK ? NULL : common->err.message;
}

int csf_stream_errno(enum colshuf_status status, const struct colshuf_error *err) {
  switch (status) {
    case COLSHUF_OK: return 0;
    case COLSHUF_UNSUPPORTED: return ENOSYS;
    case COLSHUF_LIMIT: return E2BIG;
    case COLSHUF_NO_MEMORY: return ENOMEM;
    case COLSHUF_IO: return err != NULL && err->system_errno > 0 ? err->system_errno : EIO;
    case COLSHUF_CANCELLED: return ECANCELED;
    case COLSHUF_INVALID_ARGUMENT:
    case COLSHUF_CORRUPT: break;
  }
  return EINVAL;
}

enum colshuf_status colshuf_stream_status(const struct ArrowArrayStream *stream) {
  /* private_data of a foreign stream may be anything: only the function tells whose it is. */
  if (stream == NULL || stream->release == NULL || stream->get_last_error != csf_stream_last_error) return COLSHUF_INVALID_ARGUMENT;
  return ((const struct csf_stream *)stream->private_data)->err.status;
}
