#include "libraries/blas_lt.h"

#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "libraries/symbols.h"

namespace wick::gpu {

const BlasLtNumbers kCublasLt = {
    .title = "cuBLASLt",
    .prefix = "cublasLt",
    .operation_plain = 0,
    .operation_transposed = 1,
    .compute_f32 = 68,
    .compute_tf32 = 77,
    .compute_f64 = 70,
    .desc_transpose_a = 3,
    .desc_transpose_b = 4,
    .desc_epilogue = 7,
    .desc_bias = 8,
    .epilogue_bias = 4,
    .layout_batch_count = 5,
    .layout_batch_step = 6,
    .preference_workspace = 1,
    .preference_reduction = 3,
    .preference_alignment = 5,
    .algorithm_bytes = 64,
    .not_supported = 15,
};

const BlasLtNumbers kHipblasLt = {
    .title = "hipBLASLt",
    .prefix = "hipblasLt",
    .operation_plain = 111,
    .operation_transposed = 112,
    .compute_f32 = 2,
    .compute_tf32 = 2,
    .compute_f64 = 7,
    .desc_transpose_a = 0,
    .desc_transpose_b = 1,
    .desc_epilogue = 2,
    .desc_bias = 3,
    .epilogue_bias = 4,
    .layout_batch_count = 0,
    .layout_batch_step = 1,
    .preference_workspace = 1,
    .preference_reduction = -1,
    .preference_alignment = -1,
    .algorithm_bytes = 24,
    .not_supported = 7,
};

namespace {

using blas_lt::Api;

// cudaDataType and hipDataType.
int data_type(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 2;
    case DType::kBf16:
      return 14;
    case DType::kF64:
      return 1;
    default:
      return 0;
  }
}

/// NVIDIA's recommendation for Hopper and later; others need less.
constexpr uint64 kMaxWorkspace = uint64(32) << 20;

/// Everything that the choice of an algorithm depends on.
using Key = std::tuple<DType, bool, bool, int, int64, int64, int64, int64,  // the sizes
                       int64, int64, bool, int, int64, int64, bool, int, int64, int64, int>;

/// The largest power of two, at most 256, that divides the address.
int alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data) | 256;
  return int(address & (~address + 1));
}

Key key_of(const BlasProduct& p) {
  return {p.dtype,
          p.tf32,
          p.bias != nullptr,
          p.residual ? alignment_of(p.residual) : 0,
          p.rows,
          p.columns,
          p.inner,
          p.batches,
          p.a.leading,
          p.a.batch_step,
          p.a.transposed,
          alignment_of(p.a.data),
          p.b.leading,
          p.b.batch_step,
          p.b.transposed,
          alignment_of(p.b.data),
          p.c.leading,
          p.c.batch_step,
          alignment_of(p.c.data)};
}

/// A descriptor of the operation, destroyed at the end of its scope.
struct Operation {
  explicit Operation(const Api& functions) : api(functions) {}
  ~Operation() {
    if (desc) api.MatmulDescDestroy(desc);
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  const Api& api;
  void* desc = nullptr;
};

/// The descriptors of a product and the algorithm for it.
struct Plan {
  explicit Plan(const Api& functions) : api(functions), operation(functions) {}
  ~Plan() {
    for (void* layout : layouts)
      if (layout) api.MatrixLayoutDestroy(layout);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Api& api;
  Operation operation;
  void* layouts[3] = {};  // of a, b, c
  alignas(8) unsigned char algorithm[64] = {};
  size_t workspace_bytes = 0;
  Failure failure;
};

class BlasLt final : public VendorLibrary {
 public:
  BlasLt(const BlasLtNumbers& numbers, const Api& api, void* handle, std::string description)
      : numbers_(numbers), api_(api), handle_(handle), description_(std::move(description)) {}

  std::string describe() const override { return description_; }

  int64 workspace_bytes(const BlasProduct& product) override {
    const auto plan = plan_for(product);
    return plan->failure.ok() ? int64(plan->workspace_bytes) : -1;
  }

  Failure run(const BlasProduct& p, const LibraryPlace& place) override {
    const auto plan = plan_for(p);
    if (!plan->failure.ok()) return plan->failure;
    if (place.workspace_bytes < int64(plan->workspace_bytes))
      return {StatusCode::kUnsupported, "the workspace is too small"};
    // alpha and beta: the residual counts once, or nothing is read.
    const float one = 1, beta = p.residual ? 1 : 0;
    const double one_f64 = 1, beta_f64 = beta;
    const bool is_f64 = p.dtype == DType::kF64;
    // A descriptor holds the address of the bias, so each call with one has a descriptor of its own.
    Operation biased(api_);
    if (p.bias)
      if (const Failure failure = describe(p, &biased.desc); !failure.ok()) return failure;
    const int status = api_.Matmul(
        handle_, p.bias ? biased.desc : plan->operation.desc,
        is_f64 ? static_cast<const void*>(&one_f64) : &one, p.a.data, plan->layouts[0], p.b.data,
        plan->layouts[1], is_f64 ? static_cast<const void*>(&beta_f64) : &beta,
        p.residual ? p.residual : p.c.data, plan->layouts[2], const_cast<void*>(p.c.data),
        plan->layouts[2], plan->algorithm, place.workspace, plan->workspace_bytes, place.stream);
    return failure_of("Matmul", status);
  }

 private:
  Failure failure_of(const char* function, int status) const {
    if (status == 0) return {};
    return {status == numbers_.not_supported ? StatusCode::kUnsupported : StatusCode::kDeviceError,
            std::string(numbers_.prefix) + function + " returned status " + std::to_string(status)};
  }

  Failure describe(const BlasProduct& p, void** desc) const {
    const int compute = p.dtype == DType::kF64 ? numbers_.compute_f64
                        : p.tf32               ? numbers_.compute_tf32
                                               : numbers_.compute_f32;
    const int scale = data_type(p.dtype == DType::kF64 ? DType::kF64 : DType::kF32);
    Failure failure = failure_of("MatmulDescCreate", api_.MatmulDescCreate(desc, compute, scale));
    const auto set = [&](int attribute, const auto& value) {
      if (failure.ok())
        failure = failure_of("MatmulDescSetAttribute",
                             api_.MatmulDescSetAttribute(*desc, attribute, &value, sizeof value));
    };
    const auto operation = [&](const BlasMatrix& m) -> int32 {
      return m.transposed ? numbers_.operation_transposed : numbers_.operation_plain;
    };
    set(numbers_.desc_transpose_a, operation(p.a));
    set(numbers_.desc_transpose_b, operation(p.b));
    if (p.bias) {
      set(numbers_.desc_epilogue, uint32(numbers_.epilogue_bias));
      set(numbers_.desc_bias, p.bias);
    }
    return failure;
  }

  std::shared_ptr<const Plan> plan_for(const BlasProduct& product) {
    const Key key = key_of(product);
    const std::lock_guard lock(mutex_);
    // Prompts of every length make shapes without end.
    if (plans_.size() >= 4096) plans_.clear();
    auto& plan = plans_[key];
    if (!plan) plan = make_plan(product);
    return plan;
  }

  std::shared_ptr<const Plan> make_plan(const BlasProduct& p) const {
    auto plan = std::make_shared<Plan>(api_);
    int status = 0;
    const auto step = [&](const char* function, auto&& call) {
      if (!plan->failure.ok()) return;
      status = call();
      plan->failure = failure_of(function, status);
    };
    const auto set = [&]<class T>(const char* function, auto setter, void* object, int attribute,
                                  const T& value) {
      step(function, [&] { return setter(object, attribute, &value, sizeof value); });
    };
    plan->failure = describe(p, &plan->operation.desc);
    const BlasMatrix* const matrices[] = {&p.a, &p.b, &p.c};
    const int64 rows[] = {p.rows, p.inner, p.rows}, columns[] = {p.inner, p.columns, p.columns};
    for (int i = 0; i < 3; i++) {
      const BlasMatrix& m = *matrices[i];
      step("MatrixLayoutCreate", [&] {
        return api_.MatrixLayoutCreate(&plan->layouts[i], data_type(p.dtype),
                                       uint64(m.transposed ? columns[i] : rows[i]),
                                       uint64(m.transposed ? rows[i] : columns[i]), m.leading);
      });
      if (p.batches > 1) {
        set("MatrixLayoutSetAttribute", api_.MatrixLayoutSetAttribute, plan->layouts[i],
            numbers_.layout_batch_count, int32(p.batches));
        set("MatrixLayoutSetAttribute", api_.MatrixLayoutSetAttribute, plan->layouts[i],
            numbers_.layout_batch_step, int64(m.batch_step));
      }
    }
    void* preference = nullptr;
    step("MatmulPreferenceCreate", [&] { return api_.MatmulPreferenceCreate(&preference); });
    const auto prefer = [&](int attribute, const auto& value) {
      set("MatmulPreferenceSetAttribute", api_.MatmulPreferenceSetAttribute, preference, attribute,
          value);
    };
    prefer(numbers_.preference_workspace, kMaxWorkspace);
    // Partial sums are added in the dtype that they are computed in: not in f16 or bf16.
    if (numbers_.preference_reduction >= 0) prefer(numbers_.preference_reduction, uint32(2));
    const void* const data[] = {p.a.data, p.b.data, p.residual ? p.residual : p.c.data, p.c.data};
    if (numbers_.preference_alignment >= 0)
      for (int i = 0; i < 4; i++)
        prefer(numbers_.preference_alignment + i, uint32(alignment_of(data[i])));
    // A result: the algorithm, the bytes of its workspace, a status, and what is not read.
    alignas(8) unsigned char result[256] = {};
    int found = 0;
    step("MatmulAlgoGetHeuristic", [&] {
      return api_.MatmulAlgoGetHeuristic(handle_, plan->operation.desc, plan->layouts[0],
                                         plan->layouts[1], plan->layouts[2], plan->layouts[2],
                                         preference, 1, result, &found);
    });
    if (preference) api_.MatmulPreferenceDestroy(preference);
    if (!plan->failure.ok()) return plan;
    int32 state = 0;
    std::memcpy(plan->algorithm, result, size_t(numbers_.algorithm_bytes));
    std::memcpy(&plan->workspace_bytes, result + numbers_.algorithm_bytes, sizeof(size_t));
    std::memcpy(&state, result + numbers_.algorithm_bytes + sizeof(size_t), sizeof state);
    if (found < 1 || state != 0)
      plan->failure = {StatusCode::kUnsupported, "there is no algorithm for this product"};
    return plan;
  }

  const BlasLtNumbers& numbers_;
  const Api api_;
  void* const handle_;  // never destroyed: the device may be gone before
  const std::string description_;
  std::mutex mutex_;  // guards plans_
  std::map<Key, std::shared_ptr<const Plan>> plans_;
};

}  // namespace

std::unique_ptr<VendorLibrary> open_blas_lt(const BlasLtNumbers& numbers, const Library& library,
                                            const std::string& beside, Failure* failure) {
  const OpenedLibrary opened = open_library(library, beside);
  if (!opened.handle) {
    *failure = {StatusCode::kUnsupported, opened.why_none};
    return nullptr;
  }
  Api api{};
  Symbols symbols(opened.handle, numbers.prefix);
  symbols.take(api.Create, "Create");
  symbols.take(api.MatmulDescCreate, "MatmulDescCreate");
  symbols.take(api.MatmulDescDestroy, "MatmulDescDestroy");
  symbols.take(api.MatmulDescSetAttribute, "MatmulDescSetAttribute");
  symbols.take(api.MatrixLayoutCreate, "MatrixLayoutCreate");
  symbols.take(api.MatrixLayoutDestroy, "MatrixLayoutDestroy");
  symbols.take(api.MatrixLayoutSetAttribute, "MatrixLayoutSetAttribute");
  symbols.take(api.MatmulPreferenceCreate, "MatmulPreferenceCreate");
  symbols.take(api.MatmulPreferenceDestroy, "MatmulPreferenceDestroy");
  symbols.take(api.MatmulPreferenceSetAttribute, "MatmulPreferenceSetAttribute");
  symbols.take(api.MatmulAlgoGetHeuristic, "MatmulAlgoGetHeuristic");
  symbols.take(api.Matmul, "Matmul");
  if (!symbols.missing().empty()) {
    *failure = {StatusCode::kUnsupported, opened.file + " lacks " + symbols.missing()};
    return nullptr;
  }
  void* handle = nullptr;
  if (const int status = api.Create(&handle)) {
    *failure = {StatusCode::kDeviceError, opened.file + ": " + numbers.prefix +
                                              "Create returned status " + std::to_string(status)};
    return nullptr;
  }
  return std::make_unique<BlasLt>(numbers, api, handle,
                                  std::string(numbers.title) + " (" + opened.file + ")");
}

}  // namespace wick::gpu
