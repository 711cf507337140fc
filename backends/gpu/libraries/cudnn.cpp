#include "libraries/cudnn.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "libraries/plan_key.h"
#include "libraries/symbols.h"
#include "runtime/find_library.h"

namespace wick::gpu {
namespace {

using namespace cudnn;  // numbers and functions

int data_type(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 2;
    case DType::kBf16:
      return 9;
    case DType::kF64:
      return 1;
    default:
      return 0;
  }
}

/// Whether it computes sums of products, which is what the op's error bound assumes: not by transforms of
/// Fourier or Winograd.
bool sums_products(LibraryWork work, int algorithm) {
  if (work == LibraryWork::kConvolution) return algorithm <= 3;
  if (work == LibraryWork::kInputGradient) return algorithm <= 1;
  return algorithm == 0 || algorithm == 1 || algorithm == 3;
}

struct Plan {
  explicit Plan(const Api& functions) : api(functions) {}
  ~Plan() {
    if (x) api.DestroyTensorDescriptor(x);
    if (y) api.DestroyTensorDescriptor(y);
    if (weight) api.DestroyFilterDescriptor(weight);
    if (convolution) api.DestroyConvolutionDescriptor(convolution);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Api& api;
  void *x = nullptr, *weight = nullptr, *y = nullptr, *convolution = nullptr;
  int algorithm = 0;
  size_t workspace_bytes = 0;
  Failure failure;
};

class Cudnn final : public VendorLibrary {
 public:
  Cudnn(const Api& api, void* handle, std::string description)
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
    const float one = 1, zero = 0;
    const double one_f64 = 1, zero_f64 = 0;
    const bool is_f64 = c.dtype == DType::kF64;
    const void* const alpha = is_f64 ? static_cast<const void*>(&one_f64) : &one;
    const void* const beta = is_f64 ? static_cast<const void*>(&zero_f64) : &zero;
    void* const workspace = place.workspace;
    const size_t bytes = plan.workspace_bytes;
    switch (c.work) {
      case LibraryWork::kInputGradient:
        return failure_of(
            "ConvolutionBackwardData",
            api_.ConvolutionBackwardData(handle_, alpha, plan.weight, c.weight.data, plan.y,
                                         c.y.data, plan.convolution, plan.algorithm, workspace,
                                         bytes, beta, plan.x, c.x.data));
      case LibraryWork::kWeightGradient:
        return failure_of("ConvolutionBackwardFilter",
                          api_.ConvolutionBackwardFilter(
                              handle_, alpha, plan.x, c.x.data, plan.y, c.y.data, plan.convolution,
                              plan.algorithm, workspace, bytes, beta, plan.weight, c.weight.data));
      default:
        return failure_of("ConvolutionForward",
                          api_.ConvolutionForward(handle_, alpha, plan.x, c.x.data, plan.weight,
                                                  c.weight.data, plan.convolution, plan.algorithm,
                                                  workspace, bytes, beta, plan.y, c.y.data));
    }
  }

 private:
  Failure failure_of(const char* function, int status) const {
    if (status == kSuccess) return {};
    // CUDNN_STATUS_NOT_SUPPORTED and its shades: 3000 to 3999.
    return {status / 1000 == 3 ? StatusCode::kUnsupported : StatusCode::kDeviceError,
            std::string("cudnn") + function + ": " + api_.GetErrorString(status)};
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
    const int type = data_type(c.dtype);
    const auto describe = [&](void** desc, const View& v) {
      step("CreateTensorDescriptor", api_.CreateTensorDescriptor, desc);
      step("SetTensor4dDescriptorEx", api_.SetTensor4dDescriptorEx, *desc, type, int(v.shape[0]),
           int(v.shape[1]), int(v.shape[2]), int(v.shape[3]), int(v.strides[0]), int(v.strides[1]),
           int(v.strides[2]), int(v.strides[3]));
    };
    describe(&plan->x, c.x);
    describe(&plan->y, c.y);
    step("CreateFilterDescriptor", api_.CreateFilterDescriptor, &plan->weight);
    step("SetFilter4dDescriptor", api_.SetFilter4dDescriptor, plan->weight, type, kNchw,
         int(c.weight.shape[0]), int(c.weight.shape[1]), int(c.weight.shape[2]),
         int(c.weight.shape[3]));
    const ConvAttributes& a = c.attributes;
    step("CreateConvolutionDescriptor", api_.CreateConvolutionDescriptor, &plan->convolution);
    step("SetConvolution2dDescriptor", api_.SetConvolution2dDescriptor, plan->convolution,
         int(a.padding[0]), int(a.padding[1]), int(a.stride[0]), int(a.stride[1]),
         int(a.dilation[0]), int(a.dilation[1]), kCrossCorrelation,
         data_type(c.dtype == DType::kF64 ? DType::kF64 : DType::kF32));
    step("SetConvolutionGroupCount", api_.SetConvolutionGroupCount, plan->convolution,
         int(a.groups));
    const int math = dtype_size(c.dtype) == 2 ? kTensorOpMath
                     : c.tf32                 ? kAllowConversion
                                              : kFmaMath;
    step("SetConvolutionMathType", api_.SetConvolutionMathType, plan->convolution, math);
    Algorithm algorithms[kMaxAlgorithms] = {};
    int found = 0;
    switch (c.work) {
      case LibraryWork::kInputGradient:
        step("GetConvolutionBackwardDataAlgorithm_v7", api_.GetConvolutionBackwardDataAlgorithm_v7,
             handle_, plan->weight, plan->y, plan->convolution, plan->x, kMaxAlgorithms, &found,
             algorithms);
        break;
      case LibraryWork::kWeightGradient:
        step("GetConvolutionBackwardFilterAlgorithm_v7",
             api_.GetConvolutionBackwardFilterAlgorithm_v7, handle_, plan->x, plan->y,
             plan->convolution, plan->weight, kMaxAlgorithms, &found, algorithms);
        break;
      default:
        step("GetConvolutionForwardAlgorithm_v7", api_.GetConvolutionForwardAlgorithm_v7, handle_,
             plan->x, plan->weight, plan->convolution, plan->y, kMaxAlgorithms, &found, algorithms);
    }
    if (!plan->failure.ok()) return plan;
    // In the order of their expected times.
    for (const Algorithm* one = algorithms; one < algorithms + found; one++)
      if (one->status == kSuccess && one->determinism == kDeterministic &&
          sums_products(c.work, one->algorithm)) {
        plan->algorithm = one->algorithm, plan->workspace_bytes = one->workspace_bytes;
        // The algorithm's own: f16 with or without tensor cores.
        step("SetConvolutionMathType", api_.SetConvolutionMathType, plan->convolution, one->math);
        return plan;
      }
    plan->failure = {StatusCode::kUnsupported, "there is no algorithm for this convolution"};
    return plan;
  }

  const Api api_;
  void* const handle_;  // never destroyed: the device may be gone before
  const std::string description_;
  std::mutex mutex_;
  std::map<ConvolutionKey, std::unique_ptr<Plan>> plans_;
};

}  // namespace

std::unique_ptr<VendorLibrary> open_cudnn(const DeviceInfo&, Failure* failure) {
  const OpenedLibrary opened = open_library(kCudnnLibrary);
  if (!opened.handle) {
    *failure = {StatusCode::kUnsupported, opened.why_none};
    return nullptr;
  }
  Api api{};
  Symbols symbols(opened.handle, "cudnn");
  symbols.take(api.GetVersion, "GetVersion");
  symbols.take(api.GetErrorString, "GetErrorString");
  symbols.take(api.Create, "Create");
  symbols.take(api.SetStream, "SetStream");
  symbols.take(api.CreateTensorDescriptor, "CreateTensorDescriptor");
  symbols.take(api.DestroyTensorDescriptor, "DestroyTensorDescriptor");
  symbols.take(api.SetTensor4dDescriptorEx, "SetTensor4dDescriptorEx");
  symbols.take(api.CreateFilterDescriptor, "CreateFilterDescriptor");
  symbols.take(api.DestroyFilterDescriptor, "DestroyFilterDescriptor");
  symbols.take(api.SetFilter4dDescriptor, "SetFilter4dDescriptor");
  symbols.take(api.CreateConvolutionDescriptor, "CreateConvolutionDescriptor");
  symbols.take(api.DestroyConvolutionDescriptor, "DestroyConvolutionDescriptor");
  symbols.take(api.SetConvolution2dDescriptor, "SetConvolution2dDescriptor");
  symbols.take(api.SetConvolutionGroupCount, "SetConvolutionGroupCount");
  symbols.take(api.SetConvolutionMathType, "SetConvolutionMathType");
  symbols.take(api.GetConvolutionForwardAlgorithm_v7, "GetConvolutionForwardAlgorithm_v7");
  symbols.take(api.GetConvolutionBackwardDataAlgorithm_v7,
               "GetConvolutionBackwardDataAlgorithm_v7");
  symbols.take(api.GetConvolutionBackwardFilterAlgorithm_v7,
               "GetConvolutionBackwardFilterAlgorithm_v7");
  symbols.take(api.ConvolutionForward, "ConvolutionForward");
  symbols.take(api.ConvolutionBackwardData, "ConvolutionBackwardData");
  symbols.take(api.ConvolutionBackwardFilter, "ConvolutionBackwardFilter");
  if (!symbols.missing().empty()) {
    *failure = {StatusCode::kUnsupported, opened.file + " lacks " + symbols.missing()};
    return nullptr;
  }
  void* handle = nullptr;
  if (const int status = api.Create(&handle)) {
    *failure = {StatusCode::kDeviceError,
                opened.file + ": cudnnCreate: " + api.GetErrorString(status)};
    return nullptr;
  }
  const size_t version = api.GetVersion();  // 91300 is 9.13.0
  const std::string name = "cuDNN " + std::to_string(version / 10000) + "." +
                           std::to_string(version / 100 % 100) + "." +
                           std::to_string(version % 100);
  return std::make_unique<Cudnn>(api, handle, name + " (" + opened.file + ")");
}

}  // namespace wick::gpu
