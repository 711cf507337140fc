// Operands and calls for the tests of this folder.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "../threads_scope.h"
#include "runtime/isa.h"
#include "runtime/table.h"

namespace wick::cpu::test {

/// A tensor that owns exactly its bytes, so that AddressSanitizer sees the first one too many.
class Array {
 public:
  Array(DType dtype, std::vector<int64> shape) : Array(dtype, shape, dense(shape)) {}
  Array(DType dtype, std::vector<int64> shape, std::vector<int64> strides) {
    view_.dtype = dtype;
    view_.rank = int32(shape.size());
    int64 last = 0;
    bool empty = false;
    for (size_t d = 0; d < shape.size(); d++) {
      view_.shape[d] = shape[d];
      view_.strides[d] = strides[d];
      last += (shape[d] - 1) * strides[d];
      empty = empty || shape[d] == 0;
    }
    bytes_.resize(size_t(bytes_of(dtype, empty ? 0 : last + 1)));
  }
  View view() const {
    View view = view_;
    view.data = const_cast<char*>(bytes_.data());  // an output's too: a call says which is written
    return view;
  }
  const std::vector<char>& bytes() const { return bytes_; }
  /// Values of f(i) for the i-th element in memory.
  template <class T, class F>
  Array& fill(F f) {
    T* data = reinterpret_cast<T*>(bytes_.data());
    for (size_t i = 0; i < bytes_.size() / sizeof(T); i++) data[i] = T(f(i));
    return *this;
  }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes_.data());
  }

 private:
  static std::vector<int64> dense(const std::vector<int64>& shape) {
    std::vector<int64> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    return strides;
  }
  View view_{};
  std::vector<char> bytes_;
};

/// The instruction sets that this machine runs.
inline std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (int i = 0; i <= int(machine_isa()); i++) all.push_back(Isa(i));
  return all;
}

struct Kernels {
  const Kernel* first = nullptr;
  int count = 0;
  /// The kernel of this name, or nullptr.
  const Kernel* named(const char* name) const {
    for (int i = 0; i < count; i++)
      if (std::strcmp(first[i].name, name) == 0) return first + i;
    return nullptr;
  }
};

inline Kernels find(Isa isa, const Op& op, std::initializer_list<DType> dtypes, int num_in) {
  const KernelQuery query{&op, dtypes.begin(), num_in, int32(dtypes.size()) - num_in};
  Kernels kernels;
  kernels.count = table_of(isa).find(query, &kernels.first);
  return kernels;
}

/// Inputs and outputs of a call, and what the core does around one.
class Launch {
 public:
  Launch(std::initializer_list<const Array*> in, const Array& out, const void* attributes = nullptr)
      : Launch(in, {&out}, attributes) {}
  Launch(std::initializer_list<const Array*> in, std::initializer_list<const Array*> out,
         const void* attributes = nullptr) {
    for (const Array* a : in) in_.push_back(a->view());
    for (const Array* a : out) out_.push_back(a->view());
    call_.in = in_.data();
    call_.out = out_.data();
    call_.num_in = int32(in_.size());
    call_.num_out = int32(out_.size());
    call_.attributes = attributes;
  }
  Launch(const Launch&) = delete;
  /// For kernels that serve several ops.
  Launch& of(const Op& op) {
    call_.op = &op;
    return *this;
  }
  /// nullptr: taken.
  const char* declined_by(const Kernel& kernel) const {
    return kernel.accepts ? kernel.accepts(&kernel, &call_, nullptr) : nullptr;
  }
  int64 scratch_bytes(const Kernel& kernel) const {
    return kernel.scratch_bytes ? kernel.scratch_bytes(&kernel, &call_, nullptr) : 0;
  }
  Status run(const Kernel& kernel) {
    call_.scratch_bytes = scratch_bytes(kernel);
    scratch_.reset(call_.scratch_bytes > 0
                       ? std::aligned_alloc(256, size_t(call_.scratch_bytes + 255) / 256 * 256)
                       : nullptr);
    call_.scratch = scratch_.get();
    return kernel.run(&kernel, &call_);
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::vector<View> in_, out_;
  Call call_{};
  std::unique_ptr<void, Free> scratch_;
};

/// Values without a pattern that rows, columns or blocks repeat.
inline double wave(size_t i) { return std::sin(double(i) * 0.37 + double(i % 7)); }

/// Runs under one thread, then under two and five; every bit of the outputs must stay.
inline void expect_same_bits(Launch& launch, const Kernel& kernel,
                             std::initializer_list<const Array*> outputs) {
  std::vector<std::vector<char>> alone;
  for (const int threads : {1, 2, 5}) {
    const wick::test::ThreadsScope scope(threads);
    const Status status = launch.run(kernel);
    ASSERT_TRUE(status.ok()) << status.text;
    size_t i = 0;
    for (const Array* out : outputs) {
      if (threads == 1)
        alone.push_back(out->bytes());
      else
        EXPECT_EQ(alone[i++], out->bytes()) << kernel.name << ": " << threads << " threads";
    }
  }
}

}  // namespace wick::cpu::test
