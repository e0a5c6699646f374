# SPDX-License-Identifier: Apache-2.0
"""The functions of colshuf/partition.h through ctypes: numpy arrays of ids and hashes from pyarrow batches."""
import ctypes

import numpy as np

from colshuf_ctypes import ARRAY_SIZE, LIBRARY, SCHEMA_SIZE, Allocator, Exported, call, export_batch, export_schema

SINGLE, HASH, RANGE, ROUND_ROBIN, ID = range(5)
SPARK, COMET, SPARK_GENERATED = range(3)


class Key(ctypes.Structure):
    _fields_ = [("column", ctypes.c_int32), ("descending", ctypes.c_int), ("nulls_last", ctypes.c_int)]


class PartitionerOptions(ctypes.Structure):
    _fields_ = [("allocator", Allocator), ("kind", ctypes.c_int), ("n_partitions", ctypes.c_int32), ("keys", ctypes.c_void_p),
                ("n_keys", ctypes.c_int32), ("rules", ctypes.c_int), ("allow_map_keys", ctypes.c_int), ("task_id", ctypes.c_int64),
                ("sort_first", ctypes.c_int), ("max_hash_columns", ctypes.c_int32), ("bounds_schema", ctypes.c_void_p),
                ("bounds", ctypes.c_void_p), ("group_rows", ctypes.c_int64)]


class SamplerOptions(ctypes.Structure):
    _fields_ = [("allocator", Allocator), ("n_partitions", ctypes.c_int32), ("keys", ctypes.c_void_p), ("n_keys", ctypes.c_int32),
                ("rules", ctypes.c_int), ("seed", ctypes.c_int64), ("sample_size", ctypes.c_int64), ("n_inputs", ctypes.c_int64)]


def pointer_to(values):
    return values.ctypes.data_as(ctypes.c_void_p)


def make_keys(schema, names, descending=None, nulls_first=None):
    """Spark's defaults where nothing is said: nulls first when ascending, last when descending."""
    descending = descending or [False] * len(names)
    nulls_first = nulls_first or [not down for down in descending]
    return (Key * len(names))(*[Key(schema.get_field_index(name), down, not first)
                                for name, down, first in zip(names, descending, nulls_first)])


def murmur3(batch, names, seed=42, rules=SPARK):
    hashes = np.empty(batch.num_rows, np.int32)
    columns = np.array([batch.schema.get_field_index(name) for name in names], np.int32)
    schema, array = export_schema(batch.schema), export_batch(batch)
    try:
        call("colshuf_murmur3", schema.pointer, array.pointer, pointer_to(columns), ctypes.c_int32(len(names)), ctypes.c_int32(seed),
             ctypes.c_int(rules), pointer_to(hashes))
    finally:
        array.release()
        schema.release()
    return hashes


class Partitioner:
    def __init__(self, schema, kind, n_partitions, keys=None, bounds=None, **options):
        self.schema = export_schema(schema)
        keys = keys if keys is not None else (Key * 0)()
        options = PartitionerOptions(kind=kind, n_partitions=n_partitions, keys=ctypes.addressof(keys), n_keys=len(keys), **options)
        exported = []
        if bounds is not None:
            exported = [export_schema(bounds.schema), export_batch(bounds)]
            options.bounds_schema, options.bounds = exported[0].address, exported[1].address
        self.handle = ctypes.c_void_p()
        try:
            call("colshuf_partitioner_new", self.schema.pointer, ctypes.byref(options), ctypes.byref(self.handle))
        finally:
            for struct in exported:
                struct.release()

    def ids(self, batch):
        ids = np.empty(batch.num_rows, np.int32)
        array = export_batch(batch)
        try:
            call("colshuf_partitioner_ids", self.handle, array.pointer, pointer_to(ids))
        finally:
            array.release()
        return ids

    def close(self):
        LIBRARY.colshuf_partitioner_free(self.handle)
        self.schema.release()


def partition_rows(ids, n_partitions):
    offsets, rows = np.empty(n_partitions + 1, np.uint32), np.empty(len(ids), np.uint32)
    call("colshuf_partition_rows", pointer_to(ids), ctypes.c_uint32(len(ids)), ctypes.c_int32(n_partitions), pointer_to(offsets),
         pointer_to(rows))
    return offsets, rows


def sample_bounds(inputs, n_partitions, keys, **options):
    """inputs: a list of batches for each input. The bounds as a record batch of the keys."""
    import pyarrow as pa
    schema = export_schema(inputs[0][0].schema)
    options = SamplerOptions(n_partitions=n_partitions, keys=ctypes.addressof(keys), n_keys=len(keys), n_inputs=len(inputs), **options)
    sampler = ctypes.c_void_p()
    call("colshuf_bounds_sampler_new", schema.pointer, ctypes.byref(options), ctypes.byref(sampler))
    try:
        for at, batches in enumerate(inputs):
            if at > 0:
                call("colshuf_bounds_sampler_next_input", sampler)
            for batch in batches:
                array = export_batch(batch)
                try:
                    call("colshuf_bounds_sampler_add", sampler, array.pointer)
                finally:
                    array.release()
        found_schema, found = Exported(SCHEMA_SIZE), Exported(ARRAY_SIZE)
        call("colshuf_bounds_sampler_finish", sampler, found_schema.pointer, found.pointer)
        return pa.RecordBatch._import_from_c(found.address, found_schema.address)
    finally:
        LIBRARY.colshuf_bounds_sampler_free(sampler)
        schema.release()
