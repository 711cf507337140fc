// Marks what libwick shows to its users; all else is hidden.
#pragma once
#if defined(WICK_STATIC)
#define WICK_API
#else
#define WICK_API __attribute__((visibility("default")))
#endif
