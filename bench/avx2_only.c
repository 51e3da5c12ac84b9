// Preloaded into a process, it hides AVX-512, VNNI and AMX from all that asks the processor (CPUID), so that ONNX Runtime takes
// its kernels for AVX2 at full speed. Linux lets a process have its CPUID instructions fail (arch_prctl, ARCH_SET_CPUID), where
// the processor can (cpuid_fault in /proc/cpuinfo); the signal's handler answers in their place.
//   cc -O2 -shared -fPIC -Wl,-z,initfirst bench/avx2_only.c -o avx2_only.so
//   LD_PRELOAD=$PWD/avx2_only.so quasar …
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { set_cpuid = 0x1012 };  // ARCH_SET_CPUID

static struct sigaction before;

static uint32_t bits(const int* all, size_t count) {
  uint32_t out = 0;
  for (size_t i = 0; i < count; ++i) out |= UINT32_C(1) << all[i];
  return out;
}
#define BITS(...) bits((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void answer(greg_t* registers) {
  const uint32_t leaf = (uint32_t)registers[REG_RAX], part = (uint32_t)registers[REG_RCX];
  uint32_t a, b, c, d;
  __cpuid_count(leaf, part, a, b, c, d);
  if (leaf == 7 && part == 0) {
    b &= ~BITS(16, 17, 21, 26, 27, 28, 30, 31);  // AVX-512 F, DQ, IFMA, PF, ER, CD, BW, VL
    c &= ~BITS(1, 6, 11, 12, 14);                // VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
    d &= ~BITS(2, 3, 8, 22, 23, 24, 25);         // 4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, AVX-512 FP16, AMX-TILE, AMX-INT8
  }
  if (leaf == 7 && part == 1) {
    a &= ~BITS(4, 5, 21, 23);  // AVX-VNNI, AVX-512 BF16, AMX-FP16, AVX-IFMA
    d &= ~BITS(4, 5, 10);      // AVX-VNNI-INT8, AVX-NE-CONVERT, AVX-VNNI-INT16
  }
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
  registers[REG_RIP] += 2;
}

static void handle(int number, siginfo_t* info, void* context) {
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* code = (const unsigned char*)registers[REG_RIP];
  if (info->si_code == SI_KERNEL && code[0] == 0x0F && code[1] == 0xA2) {
    syscall(SYS_arch_prctl, set_cpuid, 1);
    answer(registers);
    syscall(SYS_arch_prctl, set_cpuid, 0);
    return;
  }
  sigaction(number, &before, NULL);  // a fault of the program's own happens again
}

__attribute__((constructor)) static void begin(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  if (sigaction(SIGSEGV, &action, &before) != 0 || syscall(SYS_arch_prctl, set_cpuid, 0) != 0) {
    static const char text[] = "avx2_only: this processor or kernel cannot hide anything (cpuid_fault in /proc/cpuinfo)\n";
    if (write(2, text, sizeof text - 1) < 0) _exit(1);
    _exit(1);
  }
}
