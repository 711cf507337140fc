#include "libraries/library_kernels.h"

#include <string>

#include "kernels/matmul.h"

namespace wick::gpu {
namespace {

// ---- products

/// A matrix [rows, columns] of these steps as BLAS has it; false if it has no dim of step 1 or overlaps
/// itself.
bool as_blas(int64 rows, int64 row_step, int64 columns, int64 column_step, BlasMatrix* matrix) {
  const auto fits = [](int64 inner, int64 inner_step, int64 outer, int64 outer_step) {
    return (inner == 1 || inner_step == 1) && (outer == 1 || outer_step >= inner);
  };
  if (fits(rows, row_step, columns, column_step)) {
    matrix->transposed = false;
    matrix->leading = columns == 1 ? rows : column_step;
    return true;
  }
  matrix->transposed = true;
  matrix->leading = rows == 1 ? columns : row_step;
  return fits(columns, column_step, rows, row_step);
}

// ---- convolutions

constexpr int64 kMaxElements = (int64(1) << 31) - 1;  // libraries count in 32 bits

bool in_32_bits(const View& v) {
  int64 reach = 1;
  for (int d = 0; d < v.rank; d++) {
    if (v.shape[d] > kMaxElements || v.strides[d] > kMaxElements) return false;
    reach += (v.shape[d] - 1) * v.strides[d];
  }
  return reach <= kMaxElements;
}

const EpilogueAttributes& epilogue_of(const Call& call) {
  return *static_cast<const EpilogueAttributes*>(call.attributes);
}
bool has_activation(const Call& call) {
  return epilogue_of(call).activation != EpilogueActivation::kNone;
}

// ---- a kernel

struct Task {
  const LibraryKernel& kernel;
  const Call& call;
  BlasProduct product;
  LibraryConvolution convolution;
  LibrarySizes sizes;
  bool finishes = false;  // wick does what follows the library's work

  Task(const LibraryKernel& k, const Call& c) : kernel(k), call(c) {}
  const char* describe() {
    finishes = kernel.work == LibraryWork::kLinearProduct && has_activation(call);
    return is_product(kernel.work)
               ? describe_product(call, kernel.work, kernel.tf32, &product, &sizes)
               : describe_convolution(call, kernel.work, kernel.tf32, &convolution, &sizes);
  }
  int64 workspace_bytes(VendorLibrary& library) const {
    return is_product(kernel.work) ? library.workspace_bytes(product)
                                   : library.workspace_bytes(convolution);
  }
  Failure run(VendorLibrary& library, const LibraryPlace& place) const {
    return is_product(kernel.work) ? library.run(product, place) : library.run(convolution, place);
  }
};

/// with_native_stream for a callable.
template <class F>
Status on_stream(const char* name, const Call& call, F&& work) {
  return with_native_stream(
      name, call,
      [](void* context, NativeStream stream) {
        return (*static_cast<std::remove_reference_t<F>*>(context))(stream);
      },
      &work);
}

const LibraryKernel& of(const Kernel* kernel) {
  return *static_cast<const LibraryKernel*>(kernel->data);
}

const char* accepts(const Kernel* kernel, const Call* call, const DeviceInfo* info) {
  Task task(of(kernel), *call);
  if (const char* why = task.describe()) return why;
  return library_declines(of(kernel), *info, task.sizes);
}

int64 scratch_bytes(const Kernel* kernel, const Call* call, const DeviceInfo* info) {
  Task task(of(kernel), *call);
  task.describe();
  int64 bytes = -1;
  // Opening and checking wait for the device, which a stream that is being captured forbids.
  on_stream(kernel->name, *call, [&](NativeStream stream) -> Status {
    VendorLibrary* const library = stream.capturing ? opened_library(of(kernel), call->device)
                                                    : ready_library(of(kernel), *info);
    if (library) bytes = task.workspace_bytes(*library);
    return {};
  });
  return bytes > 0 ? bytes : 0;
}

Status run(const Kernel* kernel, const Call* call) {
  if (!library_setting_error().empty())
    return {StatusCode::kInvalidArgument, library_setting_error().c_str()};
  Task task(of(kernel), *call);
  task.describe();
  VendorLibrary* const library = opened_library(of(kernel), call->device);
  if (!library) return {StatusCode::kDeclined, "the library is not open, or failed its check"};
  Failure failure;
  const Status status = on_stream(kernel->name, *call, [&](NativeStream stream) -> Status {
    failure = task.run(*library, {stream.handle, call->scratch, call->scratch_bytes});
    return {};
  });
  if (!status.ok()) return status;
  if (failure.ok()) return task.finishes ? finish_linear(*call, /*with_bias=*/false) : Status{};
  if (failure.code == StatusCode::kUnsupported)
    return {StatusCode::kDeclined, "the library has no algorithm for the call"};
  give_up_library(of(kernel), call->device, failure.text);
  return {StatusCode::kDeclined, "the library failed"};
}

void add(KernelList& list, int library, LibraryWork work, const Op& op, DType dtype, bool tf32) {
  // Entries of the table live as long as the process.
  const auto* data = new LibraryKernel{library, work, dtype, tf32};
  const std::string form = kLibraries[library].name + std::string(tf32 ? "_tf32" : "");
  list.add({op, dtype, kKernelLibrary | (tf32 ? uint32(kKernelRoundsF32) : 0)}, dtype, form.c_str(),
           kAllFamilies,
           {.accepts = accepts, .scratch_bytes = scratch_bytes, .run = run, .data = data});
}

}  // namespace

const char* describe_product(const Call& call, LibraryWork work, bool tf32, BlasProduct* product,
                             LibrarySizes* sizes) {
  if (work == LibraryWork::kLinearProduct) {
    if (const char* why = Epilogue<float>::check(call)) return why;
    const PlainProduct plain(call);
    const char* why = describe_product(plain.call, LibraryWork::kProduct, tf32, product, sizes);
    const EpilogueAttributes& epilogue = epilogue_of(call);
    if (epilogue.has_bias) product->bias = call.in[2].data;
    // The residual follows the activation.
    if (epilogue.has_residual && !has_activation(call)) product->residual = call.in[3].data;
    return why;
  }
  if (const char* why = Product::check(call)) return why;
  const Product p(call);
  if (p.m == 0 || p.n == 0 || p.k == 0) return "nothing to multiply";
  if (p.batch.numel() == 0) return "no batches";
  if (p.batch.rank > 1) return "the batches are in several strides";
  // What is row by row for wick is column by column for BLAS, transposed.
  BlasProduct& blas = *product;
  blas = {call.out[0].dtype, tf32, p.n, p.m, p.k, p.batch.numel(), {}, {}, {}, nullptr, nullptr};
  if (!as_blas(p.n, p.b.row, p.k, p.b.k, &blas.a)) return "an operand has no inner stride of 1";
  if (!as_blas(p.k, p.a.k, p.m, p.a.row, &blas.b)) return "an operand has no inner stride of 1";
  blas.a.data = p.batch.data[2], blas.b.data = p.batch.data[1], blas.c.data = p.batch.data[0];
  blas.c.leading = p.n, blas.c.transposed = false;
  const bool batched = p.batch.rank == 1;
  blas.a.batch_step = batched ? p.batch.strides[2][0] : 0;
  blas.b.batch_step = batched ? p.batch.strides[1][0] : 0;
  blas.c.batch_step = batched ? p.batch.strides[0][0] : 0;
  if (blas.batches > kLaunchLimit || blas.a.leading > kMaxElements || blas.b.leading > kMaxElements)
    return "more batches or longer strides than libraries count";
  *sizes = {blas.rows, blas.columns, blas.inner, blas.batches};
  return nullptr;
}

const char* describe_convolution(const Call& call, LibraryWork work, bool tf32,
                                 LibraryConvolution* convolution, LibrarySizes* sizes) {
  LibraryConvolution& c = *convolution;
  c.work = work, c.dtype = call.out[0].dtype, c.tf32 = tf32;
  const bool forward = work == LibraryWork::kConvolution;
  const bool of_weight = work == LibraryWork::kWeightGradient;
  c.x = forward ? call.in[0] : of_weight ? call.in[1] : call.out[0];
  c.weight = of_weight ? call.out[0] : call.in[1];
  c.y = forward ? call.out[0] : call.in[0];
  c.attributes = *static_cast<const ConvAttributes*>(call.attributes);
  const ConvAttributes& a = c.attributes;
  if (call.out[0].numel() == 0 || call.in[0].numel() == 0 || call.in[1].numel() == 0)
    return "nothing to convolve";
  if (!call.out[0].contiguous()) return "the output is not contiguous";
  if (!c.weight.contiguous()) return "the weight is not contiguous";
  if (!in_32_bits(c.x) || !in_32_bits(c.weight) || !in_32_bits(c.y))
    return "a tensor has more elements than libraries count";
  for (int d = 0; d < 2; d++) {
    if (a.stride[d] > kMaxElements || a.padding[d] > kMaxElements || a.dilation[d] > kMaxElements)
      return "a step is longer than libraries count";
    const int64 window = a.dilation[d] * (c.weight.shape[2 + d] - 1) + 1;
    const int64 places = c.x.shape[2 + d] + 2 * a.padding[d] - window;
    if (places < 0 || places / a.stride[d] + 1 != c.y.shape[2 + d])
      return "the padding behind differs from that before";
  }
  const int64 taps = c.weight.shape[2] * c.weight.shape[3];
  const int64 outputs = c.weight.shape[0] / a.groups, inputs = c.weight.shape[1];
  const int64 y_places = c.y.shape[0] * c.y.shape[2] * c.y.shape[3];
  const int64 x_places = c.x.shape[0] * c.x.shape[2] * c.x.shape[3];
  *sizes = forward     ? LibrarySizes{outputs, y_places, inputs * taps, a.groups}
           : of_weight ? LibrarySizes{outputs, inputs * taps, y_places, a.groups}
                       : LibrarySizes{inputs, x_places, outputs * taps, a.groups};
  return nullptr;
}

void add_library_kernels(KernelList& list) {
  struct Served {
    const Op& op;
    LibraryWork work;
  };
  const Served served[] = {{kMatmul, LibraryWork::kProduct},
                           {kLinearEpilogue, LibraryWork::kLinearProduct},
                           {kConv, LibraryWork::kConvolution},
                           {kConvInputGradient, LibraryWork::kInputGradient},
                           {kConvWeightGradient, LibraryWork::kWeightGradient}};
  for (int library = 0; library < kNumLibraries; library++)
    for (const Served& s : served) {
      const LibraryKind& kind = kLibraries[library];
      if (!serves(kind, s.work)) continue;
      if (kind.has_tf32) add(list, library, s.work, s.op, DType::kF32, true);
      for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32, DType::kF64})
        add(list, library, s.work, s.op, dtype, false);
    }
}

}  // namespace wick::gpu
