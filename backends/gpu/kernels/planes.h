// Kernels over tensors [N, C, H, W] with one thread per output element.
#pragma once
#include "kernels/common.h"

namespace wick::gpu {

/// A thread's element of [N, C, H, W]. A launch covers consecutive rows, which [N, C, H] numbers.
struct PlaneRows {
  int32 first_row, first_channel;  // where the launch starts, in the plane and in the image
  int64 first_image;
  int32 numel;  // per launch
  FastDivide channels, height, width;

  struct Element {
    int64 n, c, h, w;
  };
  WICK_DEVICE Element place(uint32 index) const {
    const uint32 row = width.quotient(index), h = first_row + row;
    const uint32 plane = height.quotient(h), c = first_channel + plane;
    const uint32 image = channels.quotient(c);
    return {first_image + image, c - image * channels.divisor, h - plane * height.divisor,
            index - row * width.divisor};
  }
};

/// Calls launch_rows(rows) for parts of the elements of y.
template <class Launch>
Status for_plane_rows(const View& y, const Launch& launch_rows) {
  if (y.numel() == 0) return {};
  const int64 channels = y.shape[1], height = y.shape[2], width = y.shape[3];
  const int64 rows = y.shape[0] * channels * height, step = kLaunchLimit / width;
  for (int64 first = 0; first < rows; first += step) {
    const int64 count = rows - first < step ? rows - first : step, plane = first / height;
    const PlaneRows part{int32(first % height), int32(plane % channels),  plane / channels,
                         int32(count * width),  FastDivide::by(channels), FastDivide::by(height),
                         FastDivide::by(width)};
    if (const Status status = launch_rows(part); !status.ok()) return status;
  }
  return {};
}

inline const char* check_planes(const View& y) {
  for (int d = 1; d < 4; d++)
    if (y.shape[d] > kLaunchLimit) return "a dim has more than 2^30 elements";
  return nullptr;
}

/// Strides of [N, C, H, W].
struct PlaneSteps {
  int64 n, c, h, w;
  static PlaneSteps of(const View& x) {
    return {x.strides[0], x.strides[1], x.strides[2], x.strides[3]};
  }
  WICK_DEVICE int64 offset(const PlaneRows::Element& p) const {
    return p.n * n + p.c * c + p.h * h + p.w * w;
  }
};

}  // namespace wick::gpu
