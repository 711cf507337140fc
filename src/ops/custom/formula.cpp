#include "wick/ops/formula.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "base/host_compiler.h"
#include "base/identifier.h"
#include "base/parallel.h"
#include "core/launch.h"
#include "ops/custom/formula_device.h"
#include "ops/custom/formula_source.h"
#include "ops/custom/formula_text.h"
#include "ops/elementwise/dtypes.h"
#include "ops/tape/tape.h"
#include "scalar/round_up.h"
#include "wick/abi/backend.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

constexpr int kMaxInputs = 8;
constexpr int64_t kGrain = 1 << 14;  // elements that justify a thread

/// data: the output's pointer, then the inputs'; strides: one per pointer, in elements.
using RowEntry = void (*)(int64_t n, void* const* data, const int64_t* strides);

struct ComputeType {
  DType dtype;
  const char* name;
};
constexpr ComputeType kComputeTypes[] = {{DType::kF32, "float"},
                                         {DType::kF64, "double"},
                                         {DType::kI64, "wick::int64"},
                                         {DType::kU64, "wick::uint64"}};

/// The compiler flag for the instruction set that wick's own kernels use on this machine.
std::vector<std::string> compiler_flags() {
  std::vector<std::string> flags = {
      "-std=c++20",        "-O3", "-shared", "-fPIC", "-ffp-contract=off", "-fno-math-errno",
      "-fno-trapping-math"};
#if defined(__x86_64__)
  const std::string set = Device::cpu().info().architecture;
  if (set.starts_with("x86-64")) flags.push_back("-march=" + set);
#endif
  return flags;
}

std::string formula_source(const Formula& formula, const std::vector<std::string>& inputs,
                           const char* compute) {
  std::string parameters, places;
  for (size_t i = 0; i < inputs.size(); i++) {
    parameters += (i ? ", C in_" : "C in_") + inputs[i];
    places += ", " + std::to_string(i);
  }
  return std::string(kFormulaSource) +
         "#line 1 \"formula\"\nnamespace wick::formula {\nusing S = " + compute +
         ";\nusing C = Value<S>;\nusing Y = " + (formula.is_bool ? "bool" : "S") +
         ";\nextern \"C\" __attribute__((visibility(\"default\"))) void wick_formula(\n"
         "    int64 n, void* const* data, const int64* strides) {\n"
         "  run<S, Y" +
         places + ">(n, data, strides, [](" + parameters + ") { return " + formula.code +
         "; });\n}\n}  // namespace wick::formula\n";
}

/// The formula as a kernel of a GPU: (n, layout, output, inputs...).
std::string device_formula_source(const Formula& formula, const std::vector<std::string>& inputs,
                                  const char* compute) {
  std::string parameters, values;
  for (size_t i = 0; i < inputs.size(); i++) {
    parameters += std::string(", const ") + compute + "* from_" + std::to_string(i);
    values += "    const C in_" + inputs[i] + " = from_" + std::to_string(i) + "[at[" +
              std::to_string(i + 1) + "]];\n";
  }
  return "#if defined(__CUDACC_RTC__)\n#define __builtin_trap __trap\n#endif\n" +
         std::string(kDeviceFormulaSource) +
         "#line 1 \"formula\"\n"
         "extern \"C\" __global__ void wick_formula(wick::int64 n, wick::formula::Layout "
         "layout, " +
         (formula.is_bool ? "bool" : compute) + "* to" + parameters +
         ") {\n"
         "  using namespace wick;\n"
         "  using namespace wick::formula;\n"
         "  using S = " +
         compute +
         ";\n"
         "  using C = S;\n"
         "  const int64 step = int64(gridDim.x) * blockDim.x;\n"
         "  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {\n"
         "    int64 at[" +
         std::to_string(inputs.size() + 1) + "];\n    layout.find(i, at);\n" + values +
         "    to[at[0]] = " + formula.code + ";\n  }\n}\n";
}

/// Launches a formula's kernel over operands of one shape, the output first.
void launch_formula(const KernelFunction& kernel, const Tensor& y,
                    const std::vector<Tensor>& inputs) {
  std::vector<Operand> operands{operand(y)};
  for (const Tensor& x : inputs) operands.push_back(operand(x, y.shape()));
  std::array<Dims*, kMaxInputs + 1> strides;
  for (size_t i = 0; i < operands.size(); i++) strides[i] = &operands[i].strides;
  const Shape shape = collapse(y.shape(), {strides.data(), operands.size()});
  if (shape.size() > formula::Layout::kDims) {
    std::vector<Tensor> packed;
    for (const Tensor& x : inputs) packed.push_back(broadcast_to(x, y.shape()).contiguous());
    return launch_formula(kernel, y, packed);
  }
  formula::Layout layout{};
  layout.rank = shape.size();
  for (int d = 0; d < shape.size(); d++) {
    layout.shape[d] = shape[d];
    for (size_t o = 0; o < operands.size(); o++) layout.strides[o][d] = operands[o].strides[d];
  }
  constexpr int64_t kThreads = 256, kMaxBlocks = 1 << 16;
  const int64_t n = y.numel(), blocks = std::min(ceil_div(n, kThreads), kMaxBlocks);
  std::vector<KernelArgument> arguments{n, layout, y};
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  kernel.launch_list(blocks, kThreads, 0, arguments);
}

/// Runs the entry over operands of one shape, the output first.
void run_rows(RowEntry entry, const Shape& full_shape, std::span<Operand> operands) {
  std::array<Dims*, kMaxInputs + 1> strides;
  for (size_t i = 0; i < operands.size(); i++) strides[i] = &operands[i].strides;
  const Shape shape = collapse(full_shape, {strides.data(), operands.size()});
  const int rank = shape.size();
  const int64_t inner = rank ? shape[rank - 1] : 1, rows = numel(full_shape) / inner;
  // Rows are split into parts, so that a few long rows still use all threads.
  const int64_t part = std::min<int64_t>(inner, kGrain), parts = ceil_div(inner, part);
  parallel_for(rows * parts, std::max<int64_t>(1, kGrain / part), [&](int64_t begin, int64_t end) {
    std::array<void*, kMaxInputs + 1> data;
    std::array<int64_t, kMaxInputs + 1> steps;
    for (int64_t i = begin; i < end; i++) {
      const int64_t from = i % parts * part;
      for (size_t o = 0; o < operands.size(); o++) {
        const Operand& operand = operands[o];
        steps[o] = rank ? operand.strides[rank - 1] : 1;
        int64_t row = i / parts, offset = from * steps[o];
        for (int d = rank - 1; d-- > 0; row /= shape[d])
          offset += row % shape[d] * operand.strides[d];
        data[o] = static_cast<char*>(operand.data) + bytes_of(operand.dtype, offset);
      }
      entry(std::min(part, inner - from), data.data(), steps.data());
    }
  });
}

}  // namespace

struct FormulaKernel::Impl {
  std::string name;
  std::vector<std::string> inputs;
  Formula formula;
  std::array<std::atomic<RowEntry>, std::size(kComputeTypes)> entries = {};

  std::mutex mutex;
  std::map<std::pair<std::string, DType>, KernelFunction> kernels = {};  // by device

  RowEntry entry_for(DType compute) {
    const auto* type = type_of(compute);
    std::atomic<RowEntry>& entry = entries[size_t(type - kComputeTypes)];
    if (const RowEntry found = entry.load(std::memory_order_acquire)) return found;
    // Hidden visibility: the formula's functions have the same names as libwick's, which must not
    // replace them.
    std::vector<std::string> flags = compiler_flags();
    flags.push_back("-fvisibility=hidden");
    const auto made = reinterpret_cast<RowEntry>(
        compiled_entry(name, formula_source(formula, inputs, type->name), "wick_formula", flags));
    entry.store(made, std::memory_order_release);
    return made;
  }

  KernelFunction kernel_for(DType compute, const Device& device) {
    const std::lock_guard lock(mutex);
    const std::pair key(to_string(device), compute);
    if (const auto found = kernels.find(key); found != kernels.end()) return found->second;
    constexpr const char* kName = "wick_formula";
    try {
      const KernelModule module = KernelModule::compile(
          device, kName, device_formula_source(formula, inputs, type_of(compute)->name),
          {"-std=c++20"});
      return kernels.emplace(key, module.function(kName)).first->second;
    } catch (const Error& e) {
      fail(e.code(), name, e.what());
    }
  }

 private:
  static const ComputeType* type_of(DType compute) {
    return std::find_if(std::begin(kComputeTypes), std::end(kComputeTypes),
                        [&](const ComputeType& t) { return t.dtype == compute; });
  }
};

FormulaKernel elementwise_kernel(const std::string& name, const std::string& formula,
                                 const FormulaOptions& options) {
  std::vector<std::string> inputs = options.names;
  if (inputs.empty())
    for (int i = 0; i < std::clamp(options.inputs, 0, kMaxInputs); i++)
      inputs.emplace_back(1, char('a' + i));
  const int count = options.names.empty() ? options.inputs : int(options.names.size());
  check(1 <= count && count <= kMaxInputs, ErrorCode::kInvalidArgument, name,
        "expected 1 to 8 inputs, got ", count);
  Formula parsed = parse_formula(name, formula, inputs);
  auto impl = std::make_shared<FormulaKernel::Impl>();
  impl->name = name;
  impl->inputs = std::move(inputs);
  impl->formula = std::move(parsed);
  return FormulaKernel(std::move(impl));
}

Tensor FormulaKernel::run(const std::vector<Tensor>& inputs) const {
  const char* name = impl_->name.c_str();
  check(inputs.size() == impl_->inputs.size(), ErrorCode::kInvalidArgument, name, "expected ",
        impl_->inputs.size(), " inputs, got ", inputs.size());
  for (const Tensor& x : inputs) {
    check_defined(name, x);
    check_same_device(name, inputs[0], x);
  }
  const Device& device = inputs[0].device();
  Shape shape = inputs[0].shape();
  // Tensors without dims do not promote within a kind, as in PyTorch.
  Tensor widest = inputs[0];
  DType dtype = inputs[0].dtype();
  for (size_t i = 1; i < inputs.size(); i++) {
    shape = broadcast_shapes(name, shape, inputs[i].shape());
    dtype = promote(Tensor::empty(widest.rank() ? Shape{0} : Shape{}, {.dtype = dtype}), inputs[i]);
    if (inputs[i].rank() > widest.rank()) widest = inputs[i];
  }
  const Formula& formula = impl_->formula;
  const bool floats = is_floating(dtype) || formula.needs_reals;
  check(!floats || formula.of_integers.empty(), ErrorCode::kDTypeMismatch, name, "'",
        formula.of_integers, "' takes only integers, got ", dtype_name(dtype));
  const DType result = formula.is_bool         ? DType::kBool
                       : floats                ? floating(dtype)
                       : dtype == DType::kBool ? DType::kI64
                                               : dtype;
  const DType compute = floats                 ? computed_in(dtype)
                        : dtype == DType::kU64 ? DType::kU64
                                               : DType::kI64;
  const Tensor y =
      Tensor::empty(shape, {.dtype = formula.is_bool ? DType::kBool : compute, .device = device});
  if (y.numel() > 0) {
    std::vector<Tensor> converted;
    for (const Tensor& x : inputs) converted.push_back(cast(x.detach(), compute));
    if (device.is_cpu()) {
      std::vector<Operand> operands{operand(y)};
      for (const Tensor& x : converted) operands.push_back(operand(x, shape));
      run_rows(impl_->entry_for(compute), shape, operands);
    } else {
      launch_formula(impl_->kernel_for(compute, device), y, converted);
    }
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& x : inputs) pointers.push_back(&x);
  if (!is_floating(result)) return cast(y, result);
  return record(name, cast(y, result), pointers, kKeepNothing,
                [impl = impl_](const RuleContext&, std::span<Tensor>) {
                  fail(ErrorCode::kNoGradient, "backward", "the formula kernel ", impl->name,
                       " has no gradient");
                });
}

namespace {

struct WickTensor {
  void* data;
  int32_t dtype, rank;
  const int64_t *shape, *strides;
};
constexpr const char* kKernelPrelude =
    "#include <cstdint>\n"
    "struct WickTensor { void* data; int dtype, rank; const int64_t *shape, *strides; };\n";
using KernelEntry = void (*)(const WickTensor*, int, const WickTensor*, int);

std::vector<WickTensor> kernel_views(const std::string& name, const std::vector<Tensor>& tensors) {
  std::vector<WickTensor> views;
  for (const Tensor& x : tensors) {
    check_defined(name.c_str(), x);
    check(x.device().is_cpu(), ErrorCode::kDeviceMismatch, name,
          "the kernel is of the CPU, got a tensor on ", x.device());
    views.push_back({x.data(), int32_t(x.dtype()), x.rank(), x.shape().data(), x.strides().data()});
  }
  return views;
}

}  // namespace

struct CompiledKernel::Impl {
  std::string name;
  KernelEntry entry;                       // on the CPU
  std::optional<KernelFunction> function;  // elsewhere
};

void CompiledKernel::launch(const std::vector<Tensor>& inputs,
                            const std::vector<Tensor>& outputs) const {
  check(impl_->entry, ErrorCode::kUnsupported, impl_->name,
        "expected launch(grid, block, shared_bytes, arguments...) for a kernel of a GPU");
  const std::vector<WickTensor> in = kernel_views(impl_->name, inputs),
                                out = kernel_views(impl_->name, outputs);
  for (const Tensor& y : outputs) y.storage()->bump_version();
  impl_->entry(in.data(), int(in.size()), out.data(), int(out.size()));
}

const KernelFunction& CompiledKernel::function() const {
  check(impl_->function.has_value(), ErrorCode::kUnsupported, impl_->name,
        "a kernel of the CPU has no blocks and threads: expected launch(inputs, outputs)");
  return *impl_->function;
}

CompiledKernel compile_kernel(const Device& device, const std::string& name,
                              const std::string& source) {
  if (!device.is_cpu()) {
    const KernelModule module = KernelModule::compile(device, name, source);
    return CompiledKernel(std::make_shared<const CompiledKernel::Impl>(
        CompiledKernel::Impl{name, nullptr, module.function(name)}));
  }
  check(is_identifier(name), ErrorCode::kInvalidArgument, "compile_kernel", "name '", name,
        "' is not an identifier");
  // #line makes the compiler's diagnostics count lines of the user's source.
  const std::string whole = std::string(kKernelPrelude) + "#line 1 \"" + name + "\"\n" + source;
  void* entry = nullptr;
  try {
    entry = compiled_entry(name, whole, name, compiler_flags());
  } catch (const Error& error) {
    check(error.code() != ErrorCode::kInvalidArgument || source.find("__global__") == source.npos,
          ErrorCode::kUnsupported, name, "a kernel for GPUs, got device ", device,
          "; use a GPU or --device emu:32");
    throw;
  }
  return CompiledKernel(std::make_shared<const CompiledKernel::Impl>(
      CompiledKernel::Impl{name, reinterpret_cast<KernelEntry>(entry), {}}));
}

}  // namespace wick
