/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/format_tables.h"

#define SCALAR(bytes) {.kind = CSF_FB_SCALAR, .size = (bytes)}
#define STRING {.kind = CSF_FB_STRING}
#define TABLE(of) {.kind = CSF_FB_TABLE, .shape = &(of)}
#define TABLES(of) {.kind = CSF_FB_TABLES, .shape = &(of)}
#define VECTOR(bytes, align) {.kind = CSF_FB_VECTOR, .size = (bytes), .alignment = (align)}
#define UNION(of) {.kind = CSF_FB_UNION, .variants = (of), .n_variants = sizeof(of) / sizeof(of)[0]}
#define SHAPE(text, of) {.name = (text), .n_slots = sizeof(of) / sizeof(of)[0], .slots = (of)}

static const struct csf_fb_shape shape_empty = {.name = "type"};

static const struct csf_fb_slot int_slots[] = {SCALAR(4), SCALAR(1)};
static const struct csf_fb_shape shape_int = SHAPE("Int", int_slots);
static const struct csf_fb_slot one_i16_slots[] = {SCALAR(2)}; /* FloatingPoint, Date, Interval, Duration */
static const struct csf_fb_shape shape_one_i16 = SHAPE("type", one_i16_slots);
static const struct csf_fb_slot decimal_slots[] = {SCALAR(4), SCALAR(4), SCALAR(4)};
static const struct csf_fb_shape shape_decimal = SHAPE("Decimal", decimal_slots);
static const struct csf_fb_slot time_slots[] = {SCALAR(2), SCALAR(4)};
static const struct csf_fb_shape shape_time = SHAPE("Time", time_slots);
static const struct csf_fb_slot timestamp_slots[] = {SCALAR(2), STRING};
static const struct csf_fb_shape shape_timestamp = SHAPE("Timestamp", timestamp_slots);
static const struct csf_fb_slot union_slots[] = {SCALAR(2), VECTOR(4, 4)};
static const struct csf_fb_shape shape_union = SHAPE("Union", union_slots);
static const struct csf_fb_slot one_i32_slots[] = {SCALAR(4)}; /* FixedSizeBinary, FixedSizeList */
static const struct csf_fb_shape shape_one_i32 = SHAPE("type", one_i32_slots);
static const struct csf_fb_slot map_slots[] = {SCALAR(1)};
static const struct csf_fb_shape shape_map = SHAPE("Map", map_slots);

static const struct csf_fb_shape *const type_variants[CSF_N_CODES] = {
    [CSF_CODE_NULL] = &shape_empty,
    [CSF_CODE_INT] = &shape_int,
    [CSF_CODE_FLOAT] = &shape_one_i16,
    [CSF_CODE_BINARY] = &shape_empty,
    [CSF_CODE_UTF8] = &shape_empty,
    [CSF_CODE_BOOL] = &shape_empty,
    [CSF_CODE_DECIMAL] = &shape_decimal,
    [CSF_CODE_DATE] = &shape_one_i16,
    [CSF_CODE_TIME] = &shape_time,
    [CSF_CODE_TIMESTAMP] = &shape_timestamp,
    [CSF_CODE_INTERVAL] = &shape_one_i16,
    [CSF_CODE_LIST] = &shape_empty,
    [CSF_CODE_STRUCT] = &shape_empty,
    [CSF_CODE_UNION] = &shape_union,
    [CSF_CODE_FIXED_SIZE_BINARY] = &shape_one_i32,
    [CSF_CODE_FIXED_SIZE_LIST] = &shape_one_i32,
    [CSF_CODE_MAP] = &shape_map,
    [CSF_CODE_DURATION] = &shape_one_i16,
    [CSF_CODE_LARGE_BINARY] = &shape_empty,
    [CSF_CODE_LARGE_UTF8] = &shape_empty,
    [CSF_CODE_LARGE_LIST] = &shape_empty,
    [CSF_CODE_RUN_END_ENCODED] = &shape_empty,
    [CSF_CODE_BINARY_VIEW] = &shape_empty,
    [CSF_CODE_UTF8_VIEW] = &shape_empty,
    [CSF_CODE_LIST_VIEW] = &shape_empty,
    [CSF_CODE_LARGE_LIST_VIEW] = &shape_empty,
};

static const struct csf_fb_slot key_value_slots[] = {STRING, STRING};
static const struct csf_fb_shape shape_key_value = SHAPE("KeyValue", key_value_slots);

static const struct csf_fb_slot encoding_slots[] = {SCALAR(8), TABLE(shape_int), SCALAR(1), SCALAR(2)};
static const struct csf_fb_shape shape_encoding = SHAPE("DictionaryEncoding", encoding_slots);

static const struct csf_fb_shape shape_field;
static const struct csf_fb_slot field_slots[] = {STRING, SCALAR(1), SCALAR(1), UNION(type_variants), TABLE(shape_encoding),
                                                 TABLES(shape_field), TABLES(shape_key_value)};
static const struct csf_fb_shape shape_field = SHAPE("Field", field_slots);

static const struct csf_fb_slot schema_slots[] = {SCALAR(2), TABLES(shape_field), TABLES(shape_key_value), VECTOR(8, 8)};
static const struct csf_fb_shape shape_schema = SHAPE("Schema", schema_slots);

static const struct csf_fb_slot compression_slots[] = {SCALAR(1), SCALAR(1)};
static const struct csf_fb_shape shape_compression = SHAPE("BodyCompression", compression_slots);

static const struct csf_fb_slot batch_slots[] = {SCALAR(8), VECTOR(CSF_NODE_SIZE, 8), VECTOR(CSF_BUFFER_SIZE, 8),
                                                 TABLE(shape_compression), VECTOR(8, 8)};
static const struct csf_fb_shape shape_batch = SHAPE("RecordBatch", batch_slots);

static const struct csf_fb_slot dictionary_slots[] = {SCALAR(8), TABLE(shape_batch), SCALAR(1)};
static const struct csf_fb_shape shape_dictionary = SHAPE("DictionaryBatch", dictionary_slots);

static const struct csf_fb_shape *const header_variants[] = {
    [CSF_HEADER_SCHEMA] = &shape_schema, [CSF_HEADER_DICTIONARY] = &shape_dictionary, [CSF_HEADER_BATCH] = &shape_batch};

static const struct csf_fb_slot message_slots[] = {SCALAR(2), SCALAR(1), UNION(header_variants), SCALAR(8),
                                                   TABLES(shape_key_value)};
const struct csf_fb_shape csf_shape_message = SHAPE("Message", message_slots);

static const struct csf_fb_slot footer_slots[] = {SCALAR(2), TABLE(shape_schema), VECTOR(CSF_BLOCK_SIZE, 8),
                                                  VECTOR(CSF_BLOCK_SIZE, 8), TABLES(shape_key_value)};
const struct csf_fb_shape csf_shape_footer = SHAPE("Footer", footer_slots);
