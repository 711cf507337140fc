// For wheels, which run on glibc 2.34: libstdc++.a, whose std::random_device asks for it, is of a
// newer glibc.
#include <stdint.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value = 0;
  // Of so few bytes all or none arrive, none only while the kernel's generator has no seed.
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}
