// What the choice of an algorithm for a convolution depends on, for the libraries' tables of choices.
#pragma once
#include <array>

#include "libraries/vendor_library.h"

namespace wick::gpu {

using ConvolutionKey = std::array<int64, 31>;

inline ConvolutionKey key_of(const LibraryConvolution& c) {
  ConvolutionKey key{};
  size_t n = 0;
  key[n++] = int64(c.work), key[n++] = int64(c.dtype), key[n++] = c.tf32;
  for (const View* v : {&c.x, &c.weight, &c.y})
    for (int d = 0; d < 4; d++) {
      key[n++] = v->shape[d];
      if (v != &c.weight) key[n++] = v->strides[d];  // the weight is contiguous
    }
  for (int d = 0; d < 2; d++) {
    key[n++] = c.attributes.stride[d];
    key[n++] = c.attributes.padding[d];
    key[n++] = c.attributes.dilation[d];
  }
  key[n++] = c.attributes.groups;
  return key;
}

}  // namespace wick::gpu
