# SPDX-License-Identifier: Apache-2.0
"""The few functions of libcolshuf that the interop tests need, through ctypes and the Arrow C Data Interface."""
import ctypes
import os

from harness import BUILD

SCHEMA_SIZE, ARRAY_SIZE = 72, 80

WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Allocator(ctypes.Structure):
    _fields_ = [("resize", ctypes.c_void_p), ("ctx", ctypes.c_void_p)]


class Output(ctypes.Structure):
    _fields_ = [("write", WRITE), ("ctx", ctypes.c_void_p)]


class WriterOptions(ctypes.Structure):
    _fields_ = [("allocator", Allocator), ("file_format", ctypes.c_int), ("layout", ctypes.c_int), ("compress", ctypes.c_int)]


class EncoderOptions(ctypes.Structure):
    _fields_ = [("allocator", Allocator), ("codec", ctypes.c_int), ("level", ctypes.c_int), ("compat", ctypes.c_int),
                ("offsets", ctypes.c_int), ("layout", ctypes.c_int), ("dictionary", ctypes.c_int)]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("system_errno", ctypes.c_int), ("message", ctypes.c_char * 1008)]


class ColshufError(Exception):
    def __init__(self, status, message):
        super().__init__("%d: %s" % (status, message))
        self.status, self.message = status, message


LIBRARY = ctypes.CDLL(os.path.join(BUILD, "libcolshuf.so"))


def call(name, *arguments):
    error = Error()
    status = getattr(LIBRARY, name)(*arguments, ctypes.byref(error))
    if status != 0:
        raise ColshufError(status, error.message.decode("utf-8", "replace"))


class Exported:
    """Bytes of a C struct that pyarrow fills; released at the end."""

    def __init__(self, size):
        # The structs hold pointers: 64-bit words align them.
        self.memory = (ctypes.c_uint64 * (size // 8))()
        self.release_at = 56 // 8 if size == SCHEMA_SIZE else 64 // 8

    @property
    def address(self):
        return ctypes.addressof(self.memory)

    @property
    def pointer(self):
        return ctypes.c_void_p(self.address)

    def release(self):
        if self.memory[self.release_at] != 0:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.memory[self.release_at])(self.address)


def export_schema(schema):
    out = Exported(SCHEMA_SIZE)
    schema._export_to_c(out.address)
    return out


def export_batch(batch):
    out = Exported(ARRAY_SIZE)
    batch._export_to_c(out.address)
    return out


def write_ipc(schema, batches, file_format=0, layout=0, compress=0, slices=None):
    """What colshuf_ipc_writer makes of batches, or of (batch, offset, length) slices."""
    chunks = []

    @WRITE
    def write(_, data, size):
        chunks.append(ctypes.string_at(data, size))
        return 0

    c_schema = export_schema(schema)
    options = WriterOptions(file_format=file_format, layout=layout, compress=compress)
    output = Output(write=write)
    writer = ctypes.c_void_p()
    try:
        call("colshuf_ipc_writer_new", c_schema.pointer, ctypes.byref(output), ctypes.byref(options), ctypes.byref(writer))
        for batch, offset, length in slices or [(b, 0, b.num_rows) for b in batches]:
            array = export_batch(batch)
            try:
                call("colshuf_ipc_writer_write", writer, array.pointer, ctypes.c_int64(offset), ctypes.c_int64(length))
            finally:
                array.release()
        call("colshuf_ipc_writer_finish", writer)
    finally:
        LIBRARY.colshuf_ipc_writer_free(writer)
        c_schema.release()
    return b"".join(chunks)


class BlockEncoder:
    def __init__(self, schema, **options):
        self.schema = export_schema(schema)
        self.handle = ctypes.c_void_p()
        options = EncoderOptions(**options)
        call("colshuf_block_encoder_new", self.schema.pointer, ctypes.byref(options), ctypes.byref(self.handle))

    def encode(self, batch, offset, length):
        array = export_batch(batch)
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        try:
            call("colshuf_block_encoder_encode", self.handle, array.pointer, ctypes.c_int64(offset), ctypes.c_int64(length),
                 ctypes.byref(data), ctypes.byref(size))
            return ctypes.string_at(data, size.value)
        finally:
            array.release()

    def close(self):
        LIBRARY.colshuf_block_encoder_free(self.handle)
        self.schema.release()
