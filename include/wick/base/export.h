// Marks the symbols that libwick exports; all others are hidden.
#pragma once
#if defined(WICK_STATIC)
#define WICK_API
#else
#define WICK_API __attribute__((visibility("default")))
#endif
