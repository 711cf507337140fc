// A library is believed once it gave what wick's own kernel gives. Operands are -1, 0 and 1, so every sum is
// exact in every dtype and the two must agree bit by bit.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/matmul.h"
#include "libraries/library_kernels.h"
#include "wick/abi/ops/linear_epilogue.h"
#include "wick/abi/ops/matmul.h"

namespace wick::gpu {
namespace {

/// Device memory and a stream, released at the end of the check.
class Bench {
 public:
  explicit Bench(int32 device) : device_(device) {
    require(backend().stream_create(device, &stream_));
  }
  ~Bench() {
    if (stream_) backend().stream_synchronize(device_, stream_, nullptr);
    for (void* data : allocated_) backend().free(device_, data);
    if (stream_) backend().stream_destroy(device_, stream_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void* stream() const { return stream_; }
  /// "" or the first failure.
  const std::string& failure() const { return failure_; }
  void require(const Status& status) {
    if (!status.ok() && failure_.empty()) failure_ = status.text ? status.text : "no reason given";
  }
  void* allocate(int64 bytes) {
    void* data = nullptr;
    if (failure_.empty()) require(backend().alloc(device_, bytes, &data));
    if (data) allocated_.push_back(data);
    return data;
  }
  void* upload(const std::vector<char>& bytes) {
    void* data = allocate(int64(bytes.size()));
    if (data)
      require(backend().copy(device_, data, bytes.data(), int64(bytes.size()),
                             CopyKind::kHostToDevice, stream_));
    return data;
  }
  std::vector<char> read(const void* data, int64 bytes) {
    std::vector<char> host(size_t(bytes), 0);
    if (failure_.empty())
      require(backend().copy(device_, host.data(), data, bytes, CopyKind::kDeviceToHost, stream_));
    if (failure_.empty()) require(backend().stream_synchronize(device_, stream_, nullptr));
    return host;
  }

 private:
  const int32 device_;
  void* stream_ = nullptr;
  std::vector<void*> allocated_;
  std::string failure_;
};

/// n elements, each -1, 0 or 1, drawn by a linear congruential generator.
std::vector<char> small_integers(DType dtype, int64 n, uint32 seed) {
  const int bytes = dtype_size(dtype);
  const uint64 one = dtype == DType::kF64    ? 0x3ff0000000000000
                     : dtype == DType::kF32  ? 0x3f800000
                     : dtype == DType::kBf16 ? 0x3f80
                                             : 0x3c00;
  const uint64 minus_one = one | uint64(1) << (8 * bytes - 1);
  std::vector<char> result(size_t(n * bytes), 0);
  for (int64 i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    const uint32 draw = (seed >> 16) % 3;
    const uint64 value = draw == 0 ? 0 : draw == 1 ? one : minus_one;
    std::memcpy(result.data() + i * bytes, &value, size_t(bytes));  // little-endian
  }
  return result;
}

/// The sign of a zero may differ.
bool equal(const std::vector<char>& a, const std::vector<char>& b, DType dtype) {
  const size_t bytes = size_t(dtype_size(dtype));
  const uint64 sign = uint64(1) << (8 * bytes - 1);
  for (size_t i = 0; i < a.size(); i += bytes) {
    uint64 x = 0, y = 0;
    std::memcpy(&x, a.data() + i, bytes);
    std::memcpy(&y, b.data() + i, bytes);
    if (x != y && ((x | y) & ~sign) != 0) return false;
  }
  return true;
}

View view(DType dtype, std::initializer_list<int64> shape) {
  View v{};
  v.dtype = dtype;
  for (const int64 size : shape) v.shape[v.rank++] = size;
  int64 stride = 1;
  for (int d = v.rank; d-- > 0; stride *= v.shape[d]) v.strides[d] = stride;
  return v;
}

/// The first of wick's own kernels that accepts the call; nullptr if none does.
const Kernel* own_kernel(const Call& call, const DeviceInfo& info) {
  DType dtypes[2 * kMaxOperands];
  for (int i = 0; i < call.num_in; i++) dtypes[i] = call.in[i].dtype;
  for (int i = 0; i < call.num_out; i++) dtypes[call.num_in + i] = call.out[i].dtype;
  const KernelQuery query{call.op, dtypes, call.num_in, call.num_out};
  const Kernel* kernels = nullptr;
  const int count = look_up(call.device, unsigned(info.families), &query, &kernels);
  for (const Kernel* kernel = kernels; kernel < kernels + count; kernel++)
    if ((kernel->flags & kKernelLibrary) == 0 &&
        (!kernel->accepts || !kernel->accepts(kernel, &call, &info)))
      return kernel;
  return nullptr;
}

/// Computes a call by wick's kernel; for linear_epilogue, if none accepts it, by a product and then
/// the epilogue.
Status run_own_kernels(Bench& bench, Call call, const DeviceInfo& info) {
  const Kernel* kernel = own_kernel(call, info);
  if (!kernel && *call.op == kLinearEpilogue) {
    const PlainProduct plain(call);
    const Status status = run_own_kernels(bench, plain.call, info);
    return status.ok() ? finish_linear(call, /*with_bias=*/true) : status;
  }
  if (!kernel) return {StatusCode::kUnsupported, "no kernel of wick's accepts the call"};
  if (kernel->scratch_bytes) call.scratch_bytes = kernel->scratch_bytes(kernel, &call, &info);
  if (call.scratch_bytes > 0) call.scratch = bench.allocate(call.scratch_bytes);
  return bench.failure().empty() ? kernel->run(kernel, &call) : Status{};
}

/// Computes a call by the library and by wick's kernel. "" or what went wrong.
std::string compare(VendorLibrary& library, const LibraryKernel& kernel, const DeviceInfo& info,
                    const Op& op, const void* attributes, std::vector<View> in, View out) {
  Bench bench(info.ordinal);
  uint32 seed = 1;
  for (View& v : in) v.data = bench.upload(small_integers(kernel.dtype, v.numel(), seed++));
  const int64 bytes = out.numel() * dtype_size(kernel.dtype);
  std::vector<char> results[2];
  for (const bool by_library : {true, false}) {
    // Ones in every bit: an element that is left out is not a number.
    out.data = bench.upload(std::vector<char>(size_t(bytes), char(0xff)));
    if (!bench.failure().empty()) break;
    Call call{};
    call.in = in.data(), call.out = &out, call.num_in = int32(in.size()), call.num_out = 1;
    call.op = &op, call.attributes = attributes;
    call.device = info.ordinal, call.stream = bench.stream();
    if (!by_library) {
      bench.require(run_own_kernels(bench, call, info));
    } else {
      BlasProduct product{};
      LibraryConvolution convolution{};
      LibrarySizes sizes{};
      const bool multiplies = is_product(kernel.work);
      if (multiplies)
        describe_product(call, kernel.work, kernel.tf32, &product, &sizes);
      else
        describe_convolution(call, kernel.work, kernel.tf32, &convolution, &sizes);
      const int64 needed =
          multiplies ? library.workspace_bytes(product) : library.workspace_bytes(convolution);
      if (needed < 0) return "";  // not served: nothing to check
      LibraryPlace place{nullptr, needed > 0 ? bench.allocate(needed) : nullptr, needed};
      if (!bench.failure().empty()) break;
      Failure failure;
      auto compute = [&](NativeStream stream) {
        place.stream = stream.handle;
        failure = multiplies ? library.run(product, place) : library.run(convolution, place);
      };
      bench.require(with_native_stream(
          "self-check", call,
          [](void* context, NativeStream stream) -> Status {
            (*static_cast<decltype(compute)*>(context))(stream);
            return {};
          },
          &compute));
      if (failure.code == StatusCode::kUnsupported) return "";
      if (!failure.ok()) return failure.text;
    }
    results[by_library] = bench.read(out.data, bytes);
  }
  if (!bench.failure().empty()) return bench.failure();
  if (equal(results[0], results[1], kernel.dtype)) return "";
  return std::string("a small ") + op.name + " in " + dtype_name(kernel.dtype) +
         " differs from wick's";
}

}  // namespace

std::string check_library(VendorLibrary& library, const LibraryKernel& kernel,
                          const DeviceInfo& info) {
  const DType t = kernel.dtype;
  if (kernel.work == LibraryWork::kProduct) {
    // As x w of two layers of a network, one weight [K, N], one [N, K] transposed.
    const View a = view(t, {3, 96, 128}), plain = view(t, {3, 128, 80}), c = view(t, {3, 96, 80});
    View transposed = view(t, {3, 80, 128});
    std::swap(transposed.shape[1], transposed.shape[2]);
    std::swap(transposed.strides[1], transposed.strides[2]);
    const std::string wrong = compare(library, kernel, info, kMatmul, nullptr, {a, plain}, c);
    return wrong.empty() ? compare(library, kernel, info, kMatmul, nullptr, {a, transposed}, c)
                         : wrong;
  }
  if (kernel.work == LibraryWork::kLinearProduct) {
    const std::vector<View> in{view(t, {96, 128}), view(t, {80, 128}), view(t, {80}),
                               view(t, {96, 80})};
    for (const bool has_residual : {false, true}) {
      const EpilogueAttributes attributes{EpilogueActivation::kNone, true, has_residual};
      const std::string wrong =
          compare(library, kernel, info, kLinearEpilogue, &attributes, in, view(t, {96, 80}));
      if (!wrong.empty()) return wrong;
    }
    return "";
  }
  const ConvAttributes attributes{{1, 1}, {1, 1}, {1, 1}, 1};
  const View x = view(t, {2, 8, 10, 12}), weight = view(t, {8, 8, 3, 3}),
             y = view(t, {2, 8, 10, 12});
  switch (kernel.work) {
    case LibraryWork::kInputGradient:
      return compare(library, kernel, info, kConvInputGradient, &attributes, {y, weight}, x);
    case LibraryWork::kWeightGradient:
      return compare(library, kernel, info, kConvWeightGradient, &attributes, {y, x}, weight);
    default:
      return compare(library, kernel, info, kConv, &attributes, {x, weight}, y);
  }
}

}  // namespace wick::gpu
