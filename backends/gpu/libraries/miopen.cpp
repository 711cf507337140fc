#include "libraries/miopen.h"

#include <array>
#include <map>
#include <mutex>

#include "libraries/plan_key.h"
#include "libraries/symbols.h"
#include "runtime/find_library.h"
#include "runtime/rt_rocm_hip.h"

namespace wick::gpu {
namespace {

using namespace miopen;  // numbers and functions

int data_type(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0;
    case DType::kBf16:
      return 5;
    case DType::kF64:
      return 6;
    default:
      return 1;
  }
}

/// Whether an algorithm computes sums of products, which is what the op's error bound assumes: a GEMM, a
/// direct convolution or an implicit GEMM, no transform of Fourier or Winograd.
bool sums_products(int algorithm) { return algorithm == 0 || algorithm == 1 || algorithm == 5; }

struct Plan {
  explicit Plan(const Api& functions) : api(functions) {}
  ~Plan() {
    for (void* tensor : {x, weight, y})
      if (tensor) api.DestroyTensorDescriptor(tensor);
    if (convolution) api.DestroyConvolutionDescriptor(convolution);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Api& api;
  void *x = nullptr, *weight = nullptr, *y = nullptr, *convolution = nullptr;
  uint64 solution = 0;
  size_t workspace_bytes = 0;
  Failure failure;
};

class Miopen final : public VendorLibrary {
 public:
  Miopen(const Api& api, void* handle, std::string description)
      : api_(api), handle_(handle), description_(std::move(description)) {}

  std::string describe() const override { return description_; }

  int64 workspace_bytes(const LibraryConvolution& c) override {
    const std::lock_guard lock(mutex_);
    const Plan& plan = plan_for(c);
    return plan.failure.ok() ? int64(plan.workspace_bytes) : -1;
  }

  Failure run(const LibraryConvolution& c, const LibraryPlace& place) override {
    const std::lock_guard lock(mutex_);  // the handle has one stream
    const Plan& plan = plan_for(c);
    if (!plan.failure.ok()) return plan.failure;
    if (place.workspace_bytes < int64(plan.workspace_bytes))
      return {StatusCode::kUnsupported, "the workspace is too small"};
    if (const int status = api_.SetStream(handle_, place.stream))
      return failure_of("SetStream", status);
    const auto order = in_order(c, plan);
    return failure_of(
        "Convolution...Immediate",
        api_.immediate[int(c.work)](handle_, order[0].desc, order[0].data, order[1].desc,
                                    order[1].data, plan.convolution, order[2].desc, order[2].data,
                                    place.workspace, plan.workspace_bytes, plan.solution));
  }

 private:
  struct Operand {
    void* desc;
    void* data;
  };
  /// The two operands and the result, as MIOpen's functions take them.
  static std::array<Operand, 3> in_order(const LibraryConvolution& c, const Plan& plan) {
    const Operand x{plan.x, c.x.data}, weight{plan.weight, c.weight.data}, y{plan.y, c.y.data};
    switch (c.work) {
      case LibraryWork::kInputGradient:
        return {y, weight, x};
      case LibraryWork::kWeightGradient:
        return {y, x, weight};
      default:
        return {weight, x, y};
    }
  }

  Failure failure_of(const char* function, int status) const {
    if (status == kSuccess) return {};
    const bool unsupported = status == kNotImplemented || status == kUnsupportedOp;
    return {unsupported ? StatusCode::kUnsupported : StatusCode::kDeviceError,
            std::string("miopen") + function + ": " + api_.GetErrorString(status)};
  }

  /// The caller holds the mutex.
  const Plan& plan_for(const LibraryConvolution& c) {
    if (plans_.size() >= 4096) plans_.clear();
    auto& plan = plans_[key_of(c)];
    if (!plan) plan = make_plan(c);
    return *plan;
  }

  std::unique_ptr<Plan> make_plan(const LibraryConvolution& c) const {
    auto plan = std::make_unique<Plan>(api_);
    const auto step = [&](const char* function, auto call, auto... arguments) {
      if (plan->failure.ok()) plan->failure = failure_of(function, call(arguments...));
    };
    const auto describe = [&](void** desc, const View& v) {
      step("CreateTensorDescriptor", api_.CreateTensorDescriptor, desc);
      step("Set4dTensorDescriptorEx", api_.Set4dTensorDescriptorEx, *desc, data_type(c.dtype),
           int(v.shape[0]), int(v.shape[1]), int(v.shape[2]), int(v.shape[3]), int(v.strides[0]),
           int(v.strides[1]), int(v.strides[2]), int(v.strides[3]));
    };
    describe(&plan->x, c.x);
    describe(&plan->weight, c.weight);
    describe(&plan->y, c.y);
    const ConvAttributes& a = c.attributes;
    step("CreateConvolutionDescriptor", api_.CreateConvolutionDescriptor, &plan->convolution);
    step("InitConvolutionDescriptor", api_.InitConvolutionDescriptor, plan->convolution,
         kConvolution, int(a.padding[0]), int(a.padding[1]), int(a.stride[0]), int(a.stride[1]),
         int(a.dilation[0]), int(a.dilation[1]));
    step("SetConvolutionGroupCount", api_.SetConvolutionGroupCount, plan->convolution,
         int(a.groups));
    step("SetConvolutionAttribute", api_.SetConvolutionAttribute, plan->convolution,
         kAttributeDeterministic, 1);
    Solution solutions[kMaxSolutions] = {};
    size_t found = 0;
    const auto order = in_order(c, *plan);
    step("Convolution...GetSolution", api_.get_solutions[int(c.work)], handle_, order[0].desc,
         order[1].desc, plan->convolution, order[2].desc, kMaxSolutions, &found, solutions);
    if (!plan->failure.ok()) return plan;
    // In the order of their expected times.
    for (const Solution* one = solutions; one < solutions + found; one++)
      if (sums_products(one->algorithm)) {
        plan->solution = one->id, plan->workspace_bytes = one->workspace_bytes;
        return plan;
      }
    plan->failure = {StatusCode::kUnsupported, "there is no solution for this convolution"};
    return plan;
  }

  const Api api_;
  void* const handle_;  // never destroyed: the device may be gone before
  const std::string description_;
  std::mutex mutex_;
  std::map<ConvolutionKey, std::unique_ptr<Plan>> plans_;
};

}  // namespace

std::unique_ptr<VendorLibrary> open_miopen(const DeviceInfo&, Failure* failure) {
  const OpenedLibrary opened = open_library(kMiopenLibrary, folder_of(hip::runtime().name));
  if (!opened.handle) {
    *failure = {StatusCode::kUnsupported, opened.why_none};
    return nullptr;
  }
  Api api{};
  Symbols symbols(opened.handle, "miopen");
  symbols.take(api.GetErrorString, "GetErrorString");
  symbols.take(api.GetVersion, "GetVersion");
  symbols.take(api.Create, "Create");
  symbols.take(api.SetStream, "SetStream");
  symbols.take(api.CreateTensorDescriptor, "CreateTensorDescriptor");
  symbols.take(api.DestroyTensorDescriptor, "DestroyTensorDescriptor");
  symbols.take(api.Set4dTensorDescriptorEx, "Set4dTensorDescriptorEx");
  symbols.take(api.CreateConvolutionDescriptor, "CreateConvolutionDescriptor");
  symbols.take(api.DestroyConvolutionDescriptor, "DestroyConvolutionDescriptor");
  symbols.take(api.InitConvolutionDescriptor, "InitConvolutionDescriptor");
  symbols.take(api.SetConvolutionGroupCount, "SetConvolutionGroupCount");
  symbols.take(api.SetConvolutionAttribute, "SetConvolutionAttribute");
  const std::pair<LibraryWork, std::string> works[] = {
      {LibraryWork::kConvolution, "ConvolutionForward"},
      {LibraryWork::kInputGradient, "ConvolutionBackwardData"},
      {LibraryWork::kWeightGradient, "ConvolutionBackwardWeights"}};
  for (const auto& [work, name] : works) {
    symbols.take(api.get_solutions[int(work)], name + "GetSolution");
    symbols.take(api.immediate[int(work)], name + "Immediate");
  }
  if (!symbols.missing().empty()) {
    *failure = {StatusCode::kUnsupported, opened.file + " lacks " + symbols.missing()};
    return nullptr;
  }
  void* handle = nullptr;
  if (const int status = api.Create(&handle)) {
    *failure = {StatusCode::kDeviceError,
                opened.file + ": miopenCreate: " + api.GetErrorString(status)};
    return nullptr;
  }
  size_t major = 0, minor = 0, patch = 0;
  api.GetVersion(&major, &minor, &patch);
  const std::string name =
      "MIOpen " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  return std::make_unique<Miopen>(api, handle, name + " (" + opened.file + ")");
}

}  // namespace wick::gpu
