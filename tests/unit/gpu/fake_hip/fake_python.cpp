// Makes a process a Python in the eyes of the search for libraries.
extern "C" __attribute__((visibility("default"))) const char* Py_GetVersion() {
  return "3.11.7 (main, Jan  1 2024, 00:00:00) [GCC 12.2.0]";
}
