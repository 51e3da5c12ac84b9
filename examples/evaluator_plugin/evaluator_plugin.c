/* An evaluator in a shared library: how small a model is beside the float model. A real one would run the model on an accelerator
 * through its vendor's library.
 *
 *   cc -shared -fPIC -I<prefix>/include -o smallness.so evaluator_plugin.c
 *   search_evaluator: {library: smallness.so, metrics: {smallness: maximize}, options: [kilobytes]} */
#include <quasar/eval/evaluator_plugin.h>
#include <stdio.h>
#include <string.h>

static long bytes_of(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return -1;
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  fclose(file);
  return size;
}

uint32_t quasar_evaluator_version(void) { return QUASAR_EVALUATOR_VERSION; }

int quasar_evaluate(const quasar_evaluation* evaluation) {
  const long model = bytes_of(evaluation->model_path), reference = bytes_of(evaluation->reference_path);
  if (model <= 0 || reference <= 0) {
    evaluation->fail(evaluation->caller, "a model's file cannot be read");
    return 1;
  }
  if (strstr(evaluation->options, "kilobytes") != NULL) evaluation->report(evaluation->caller, "kilobytes", model / 1e3);
  evaluation->report(evaluation->caller, "smallness", (double)reference / (double)model);
  return 0;
}
