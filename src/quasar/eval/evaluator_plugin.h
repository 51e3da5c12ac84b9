/* An evaluator of one's own in a shared library: search_evaluator: {library: plugin.so, options: {...}}
 *
 * The library defines the two functions at the end, in C. examples/evaluator_plugin is a complete one.
 * Version 1. A later version only adds members at the end of the structure. */
#ifndef QUASAR_EVALUATOR_PLUGIN_H
#define QUASAR_EVALUATOR_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUASAR_EVALUATOR_VERSION 1

/* One model that is to be scored. All texts are UTF-8, end with 0, and are valid during the call. */
typedef struct quasar_evaluation {
  uint32_t version;            /* of the structure that the caller fills in */
  const char* model_path;      /* the model, an ONNX file */
  const char* reference_path;  /* the float model */
  const char* options;         /* JSON: what the user wrote under `options`; "null" when nothing */
  void* caller;                /* handed back to the functions below */
  void (*report)(void* caller, const char* metric, double value); /* a metric's value; once for each */
  void (*fail)(void* caller, const char* message);                /* why there is none */
  int (*cancelled)(void* caller); /* not 0: nobody waits for the result any more; return early */
} quasar_evaluation;

/* The version that the library was written for: QUASAR_EVALUATOR_VERSION. */
uint32_t quasar_evaluator_version(void);

/* Scores one model; 0: done. Called from several threads at once, unless the user says `serial: true`. It must not throw. */
int quasar_evaluate(const quasar_evaluation* evaluation);

#ifdef __cplusplus
}
#endif

#endif
