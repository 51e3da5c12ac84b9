/* Preloaded: the wall clock jumps by up to a day, both ways, ten times a second; the steady clock does not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <sys/time.h>
static long jump(void) {
  struct timespec now;
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  real(CLOCK_MONOTONIC, &now);
  unsigned long x = (unsigned long)now.tv_sec * 10 + now.tv_nsec / 100000000;
  x ^= x << 13; x ^= x >> 7; x ^= x << 17;
  return (long)(x % 172800) - 86400;
}
int clock_gettime(clockid_t id, struct timespec* out) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(id, out);
  if (id == CLOCK_REALTIME) out->tv_sec += jump();
  return code;
}
time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval* out, void* zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
