// Windows' own header, without the macros that C++ stumbles over; nothing elsewhere.
#pragma once

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#define NOGDI  // ERROR
#include <windows.h>
#undef far
#undef near
#endif
