// Functions that exist once for every kind of processor; the one that fits is chosen when the program is loaded.
#pragma once

// QUASAR_CLONES("avx512f", "avx2", "default") before a function. Not under the thread sanitizer: the choice is made by
// instrumented code, before the sanitizer is there. Nor where processors have other names, or programs are loaded without such a
// choice: there is one such function.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__) || !defined(__ELF__)
#define QUASAR_CLONES(...)
#else
#define QUASAR_CLONES(...) __attribute__((target_clones(__VA_ARGS__)))
// QUASAR_WIDE before a function whose vectors have 64 bytes: GCC (12) takes such vectors apart in every clone. It is called only
// where runs_wide().
#define QUASAR_WIDE __attribute__((target("avx512f")))
#endif

namespace quasar {

#ifdef QUASAR_WIDE
inline bool runs_wide() {
  static const bool runs = __builtin_cpu_supports("avx512f") != 0;
  return runs;
}
#endif

}  // namespace quasar
