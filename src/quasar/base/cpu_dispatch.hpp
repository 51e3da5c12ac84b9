// Functions that exist once for every kind of processor; the one that fits is chosen when the program is loaded.
#pragma once

// QUASAR_CLONES("avx512f", "avx2", "default") before a function. Not under the thread sanitizer: the choice is made by
// instrumented code, before the sanitizer is there. Nor where processors have other names, or programs are loaded without such a
// choice: there is one such function.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__) || !defined(__ELF__)
#define QUASAR_CLONES(...)
#else
#define QUASAR_CLONES(...) __attribute__((target_clones(__VA_ARGS__)))
#endif
