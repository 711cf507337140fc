// OpenBLAS, loaded at the first product that it serves.
#pragma once
#include <cblas.h>

#include <condition_variable>
#include <mutex>

namespace wick::cpu {

class OpenBlas {
 public:
  /// Loads the library at the first call, without threads of its own: they would meet ours on the same
  /// cores, and one that gets no memory tries for ever. Returns nullptr if the library is missing or the
  /// memory does not suffice for it.
  static OpenBlas* get();

  /// Whether there is a buffer for a product, or memory for one.
  bool has_buffer();

  /// Buffers for threads that compute, while an instance lives. OpenBLAS takes a buffer for each call
  /// that runs, keeps it for later ones, and tries for ever if there is no memory for another.
  class Buffers {
   public:
    /// Takes as many as there are or can be made, up to `most`; waits for others to give theirs back if
    /// there is none. count() is 0 if not even the first can be made.
    Buffers(OpenBlas& library, int most);
    ~Buffers();
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
    int count() const { return count_; }

   private:
    OpenBlas& library_;
    int count_ = 0;
  };

  decltype(&cblas_dgemm) dgemm = nullptr;

 private:
  OpenBlas() = default;
  /// Makes buffers until `wanted` are there that nobody has taken, or the memory does not suffice.
  void make(int wanted);

  void* (*alloc_)(int) = nullptr;  // blas_memory_alloc, which ignores its argument
  void (*free_)(void*) = nullptr;
  std::mutex mutex_;
  std::condition_variable given_back_;
  int made_ = 0, taken_ = 0;
};

}  // namespace wick::cpu
