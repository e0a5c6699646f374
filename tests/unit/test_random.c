/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that other tests stand on. */
#include "support/random.h"
#include "support/types.h"
#include "support/value.h"

static void a_schema_is_read_from_the_text_that_describes_it(void) {
  struct test_random random = {3};
  for (int i = 0; i < 300; i++) {
    struct test_schema_options options = {.plain_names = true};
    struct csf_schema *schema = test_random_schema(&random, &options);
    for (int32_t c = 0; c < schema->root.n_children; c++) {
      const struct csf_field *field = &schema->root.children[c];
      char text[2000], again[2000];
      csf_field_describe(field, text, sizeof text);
      struct csf_schema *read = test_schema(text);
      csf_field_describe(&read->root.children[0], again, sizeof again);
      CHECK_STRING(again, text);
      CHECK(csf_field_equal(&read->root.children[0], field, CSF_MATCH_NULLABLE) || strcmp(field->name, "c0") != 0);
      csf_schema_release(read);
    }
    csf_schema_release(schema);
  }
}

static void every_type_and_every_dictionary_index_comes_up(void) {
  struct test_random random = {4};
  bool types[CSF_N_TYPES] = {false}, indices[CSF_N_TYPES] = {false};
  for (int i = 0; i < 300; i++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){0});
    for (int32_t c = 0; c < schema->root.n_children; c++) {
      const struct csf_field *field = &schema->root.children[c];
      if (field->dictionary != NULL) indices[field->type] = true;
      types[field->dictionary != NULL ? field->dictionary->type : field->type] = true;
    }
    csf_schema_release(schema);
  }
  for (int type = 0; type < CSF_N_TYPES; type++) CHECK(types[type]);
  for (int type = CSF_INT8; type <= CSF_UINT64; type++) CHECK(indices[type]);
}

static void the_same_seed_gives_the_same_values(void) {
  uint64_t hashes[2];
  for (int i = 0; i < 2; i++) {
    struct test_random random = {77};
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){.n_columns = 9});
    struct test_array_options options = {.rows = 50, .null_percent = 20, .shape = TEST_WILD};
    struct ArrowArray array;
    test_random_array(&random, &schema->root, &options, &array);
    hashes[i] = test_rows_hash(&schema->root, &array, 0, array.length);
    array.release(&array);
    csf_schema_release(schema);
  }
  CHECK(hashes[0] == hashes[1]);
}

static void every_random_array_is_valid_in_full(void) {
  struct test_random random = {5};
  struct colshuf_error err;
  for (int i = 0; i < 3000; i++) {
    struct csf_schema *schema = test_random_schema(&random, &(struct test_schema_options){0});
    struct test_array_options options = test_random_options(&random, 60);
    struct ArrowArray array;
    test_random_array(&random, &schema->root, &options, &array);
    enum colshuf_status status = csf_array_validate(&schema->root, &array, NULL, CSF_VALIDATE_FULL, &err);
    if (status != COLSHUF_OK) test_fail(__FILE__, __LINE__, "case %d: %s", i, err.message);
    array.release(&array);
    csf_schema_release(schema);
  }
}

static const struct test_case tests[] = {
    TEST(a_schema_is_read_from_the_text_that_describes_it),
    TEST(every_type_and_every_dictionary_index_comes_up),
    TEST(the_same_seed_gives_the_same_values),
    TEST(every_random_array_is_valid_in_full),
};
TEST_MAIN(tests)
