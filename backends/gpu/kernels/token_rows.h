// Shared by the kernels of ops that keep a state along a sequence: strides of operands, how many
// tokens are read, and how lanes share a vector of the state.
#pragma once
#include "kernels/common.h"

namespace wick::gpu {

/// Of [B, T, H] or [B, T, H, D] with an inner stride of 1.
struct TokenStrides {
  int64 batch, token, head;
  static TokenStrides of(const View& x) { return {x.strides[0], x.strides[1], x.strides[2]}; }
  WICK_HD int64 at(int64 b, int64 h) const { return b * batch + h * head; }
};

/// Elements of T or of Compute<T>, read as Compute<T>.
template <class T>
struct EitherDType {
  const void* data;
  int32 is_wide;  // of Compute<T>

  static EitherDType of(const View& x) { return {x.data, x.dtype == kDTypeOf<Compute<T>>}; }
  WICK_DEVICE Compute<T> operator[](int64 i) const {
    return is_wide ? static_cast<const Compute<T>*>(data)[i]
                   : widen<Compute<T>>(static_cast<const T*>(data)[i]);
  }
};
/// Adds L<T> for every type T of the list, with the operand "*" in T and in Compute<T>.
template <template <class> class L, class... T>
void add_kernels_for_either(KernelList& list, const char* form, TypeList<T...>) {
  const auto add = [&]<class Each>() {
    add_kernel<L<Each>, kAllFamilies>(list, form);
    if constexpr (!kSame<Each, Compute<Each>>)
      add_kernel<L<Each>, kAllFamilies>(list, form, L<Each>::signature, kDTypeOf<Compute<Each>>);
  };
  (add.template operator()<T>(), ...);
}

/// The lengths [B] of the sequences; data: nullptr if all tokens are read.
struct TokenLengths {
  const int64* data;
  int64 stride;

  static TokenLengths of(const View& lengths, bool is_given) {
    return {is_given ? lengths.as<int64>() : nullptr, is_given ? lengths.strides[0] : 0};
  }
  WICK_DEVICE int32 read(int64 b, int32 tokens) const {
    if (!data) return tokens;
    const int64 length = data[b * stride];
    return length < 0 ? 0 : length < tokens ? int32(length) : tokens;
  }
};

/// The fewest lanes, a power of 2 of at most 32, whose registers hold a vector of `size` elements,
/// n each; 0 if 32 lanes do not.
inline int32 lanes_for(int64 size, int n) {
  int32 lanes = 1;
  while (lanes * n < size) {
    if (lanes == 32) return 0;
    lanes *= 2;
  }
  return lanes;
}

}  // namespace wick::gpu
