#include "wick/core/user_kernel.h"

#include <limits>

#include "base/file.h"
#include "base/host_compiler.h"
#include "base/identifier.h"
#include "core/device_state.h"
#include "core/image_cache.h"
#include "core/stream.h"
#include "core/work_gate.h"
#include "scalar/round_up.h"
#include "wick/abi/runtime_code.h"

namespace wick {
namespace {

const RuntimeCode& runtime_code_of(const Device& device, std::string_view where) {
  const RuntimeCode* code = device.state().backend.runtime_code;
  check(code, ErrorCode::kUnsupported, where, "expected a device that loads kernels, got ", device,
        ": a kernel for GPUs; use a GPU or --device emu:32");
  check(code->version == kRuntimeCodeVersion && code->struct_size == sizeof(RuntimeCode),
        ErrorCode::kUnsupported, where, "the module of ", device,
        " loads kernels by another version of wick's interface");
  return *code;
}

std::string text_of(Dim3 d) {
  return "[" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + "]";
}

void check_size(const std::string& kernel, const char* argument, Dim3 size, int64_t least) {
  for (const int64_t n : {size.x, size.y, size.z})
    check(least <= n && n <= std::numeric_limits<int32>::max(), ErrorCode::kInvalidArgument, kernel,
          argument, ": expected sizes of ", least, " to 2^31 - 1, got ", text_of(size));
}

}  // namespace

// ---- modules

struct KernelModule::Impl {
  Impl(const Device& device, const std::string& name)
      : device(device), name(name), code(runtime_code_of(device, name)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (module) code.unload(device.state().device(), module);
  }

  Device device;
  std::string name;
  const RuntimeCode& code;
  void* module = nullptr;
};

struct KernelFunction::Impl {
  std::shared_ptr<const KernelModule::Impl> module;
  std::string name;
  KernelFacts facts;
};

KernelModule KernelModule::load(const Device& device, const std::string& path) {
  runtime_code_of(device, path);  // before the file is read
  const MappedFile file(path);
  return from_bytes(device, std::as_bytes(file.bytes()), path);
}

KernelModule KernelModule::from_bytes(const Device& device, std::span<const std::byte> bytes,
                                      const std::string& name) {
  const auto impl = std::make_shared<Impl>(device, name);
  const DeviceState& state = device.state();
  state.require(impl->code.load(state.device(), bytes.data(), int64_t(bytes.size()), &impl->module),
                name);
  return KernelModule(impl);
}

namespace {

ByteSink sink_of(std::string& text) {
  return {&text, [](void* context, const void* bytes, int64 count) {
            static_cast<std::string*>(context)->append(static_cast<const char*>(bytes),
                                                       size_t(count));
          }};
}

std::string shortened(const std::string& text) {
  std::string line;  // control characters become spaces: an error is one line
  for (const char c : text.substr(0, 64)) line += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  return line + (text.size() > 64 ? "..." : "");
}

}  // namespace

KernelModule KernelModule::compile(const Device& device, const std::string& name,
                                   const std::string& source,
                                   const std::vector<std::string>& options) {
  constexpr size_t kMaxName = 255;
  check(is_identifier(name) && name.size() <= kMaxName, ErrorCode::kInvalidArgument,
        "compile_kernel", "name: expected an identifier of at most ", kMaxName,
        " characters, got '", shortened(name), "'");
  check(source.find('\0') == source.npos, ErrorCode::kInvalidArgument, name,
        "source: expected text, got a null character");
  const RuntimeCode& code = runtime_code_of(device, name);
  check(code.compiler && code.compile, ErrorCode::kUnsupported, name,
        "expected a device that compiles kernels, got ", device);
  const DeviceState& state = device.state();

  std::string identity;
  const ByteSink to_identity = sink_of(identity);
  state.require(code.compiler(state.device(), &to_identity), name);
  std::string all =
      "kernel from source\n" + identity + '\0' + state.info.architecture + '\0' + name + '\0';
  std::vector<const char*> pointers;
  for (const std::string& option : options) {
    all += option + '\0';
    pointers.push_back(option.c_str());
  }
  const ImageCache cache(all + source);
  if (const std::optional<std::string> image = cache.read()) {
    try {
      return from_bytes(device, std::as_bytes(std::span(*image)), name);
    } catch (const Error&) {  // a damage that the checksum does not see: compiled anew
    }
  }

  std::string image, log;
  const ByteSink to_image = sink_of(image), to_log = sink_of(log);
  const KernelSource from{name.c_str(), source.c_str(), pointers.data(), int32(pointers.size())};
  const Status status = code.compile(state.device(), &from, &to_image, &to_log);
  if (status.code == StatusCode::kInvalidArgument && !log.empty())
    fail(ErrorCode::kInvalidArgument, name, status.text ? status.text : "it does not compile", ": ",
         first_complaints(log));
  state.require(status, name);
  cache.write(image);
  return from_bytes(device, std::as_bytes(std::span(image)), name);
}

const Device& KernelModule::device() const { return impl_->device; }

KernelFunction KernelModule::function(const std::string& name) const {
  const auto function = std::make_shared<KernelFunction::Impl>();
  function->module = impl_;
  function->name = name;
  const DeviceState& state = impl_->device.state();
  state.require(impl_->code.find(state.device(), impl_->module, name.c_str(), &function->facts),
                impl_->name);
  return KernelFunction(function);
}

// ---- launches

KernelArgument::KernelArgument(const Tensor& x)
    : pointer_(x && x.numel() > 0 ? x.data() : nullptr), tensor_(&x), bytes_(sizeof(void*)) {}

const std::string& KernelFunction::name() const { return impl_->name; }
const Device& KernelFunction::device() const { return impl_->module->device; }

void KernelFunction::launch_on(const Stream* stream, Dim3 grid, Dim3 block, int64_t shared_bytes,
                               std::span<const KernelArgument> arguments) const {
  const std::string& kernel = impl_->name;
  const KernelFacts& facts = impl_->facts;
  const Device& device = impl_->module->device;
  check_size(kernel, "grid", grid, 0);
  check_size(kernel, "block", block, 1);
  check(block.x <= facts.max_threads && block.y <= facts.max_threads &&
            block.z <= facts.max_threads && block.x * block.y * block.z <= facts.max_threads,
        ErrorCode::kInvalidArgument, kernel, "block: expected at most ", facts.max_threads,
        " threads, got ", text_of(block));
  check(0 <= shared_bytes && shared_bytes <= facts.max_dynamic_shared, ErrorCode::kInvalidArgument,
        kernel, "shared_bytes: expected 0 to ", facts.max_dynamic_shared, ", got ", shared_bytes);
  check(int(arguments.size()) == facts.num_arguments, ErrorCode::kInvalidArgument, kernel,
        "expected ", facts.num_arguments, " arguments, got ", arguments.size());
  check(!stream || stream->device() == device, ErrorCode::kDeviceMismatch, kernel,
        "the kernel is of ", device, ", the stream of ", stream ? stream->device() : device);
  std::vector<const void*> addresses;
  for (size_t i = 0; i < arguments.size(); i++) {
    const KernelArgument& a = arguments[i];
    check(a.bytes() == facts.argument_bytes[i], ErrorCode::kInvalidArgument, kernel, "argument ", i,
          ": expected ", facts.argument_bytes[i], " bytes, got ", a.bytes());
    if (a.tensor() && *a.tensor())
      check(a.tensor()->device() == device, ErrorCode::kDeviceMismatch, kernel, "argument ", i,
            ": expected a tensor on ", device, ", got one on ", a.tensor()->device());
    addresses.push_back(a.address());
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;

  DeviceState& state = device.state();
  void* const handle = stream ? stream->impl().handle : current_stream(state);
  for (const KernelArgument& a : arguments) {
    if (!a.tensor() || !*a.tensor()) continue;
    const auto& storage = a.tensor()->storage();
    if (a.is_var()) storage->bump_version();
    if (handle) state.allocator.use_on(storage->data(), handle);
  }
  const KernelLaunch launch{kernel.c_str(),
                            {uint32(grid.x), uint32(grid.y), uint32(grid.z)},
                            {uint32(block.x), uint32(block.y), uint32(block.z)},
                            uint32(shared_bytes),
                            addresses.data()};
  const QueueScope queueing(state);
  state.require(impl_->module->code.launch(state.device(), facts.function, &launch, handle),
                kernel);
}

void KernelFunction::launch_with_layout_info(std::initializer_list<Tensor> inputs,
                                             const KernelArgument& output,
                                             std::initializer_list<KernelArgument> more) const {
  check(output.tensor() && *output.tensor(), ErrorCode::kInvalidArgument, name(),
        "output: expected a tensor");
  const Tensor& out = *output.tensor();
  check(out.is_contiguous(), ErrorCode::kInvalidArgument, name(),
        "output: expected contiguous elements, got strides ", out.strides(), " of shape ",
        out.shape());
  const Shape& shape = out.shape();
  // Kernels of three inputs in the wild read info unasked.
  bool plain = inputs.size() < 3;
  std::vector<int64_t> layout(shape.begin(), shape.end());
  int number = 0;
  for (const Tensor& x : inputs) {
    const Tensor& read = x ? x : out;
    Dims strides;
    check(broadcast_strides(read.layout(), shape, &strides), ErrorCode::kShapeMismatch, name(),
          "input ", number, ": expected a shape that broadcasts to ", shape, ", got ",
          read.shape());
    number++;
    layout.insert(layout.end(), strides.begin(), strides.end());
    plain = plain && read.is_contiguous() && read.shape() == shape;
  }
  const Tensor info = plain ? Tensor() : Tensor::from(layout, device());
  const uint64_t numel = uint64_t(out.numel()), num_dims = uint64_t(out.rank());
  std::vector<KernelArgument> arguments{numel, num_dims, info};
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  arguments.push_back(output);
  arguments.insert(arguments.end(), more.begin(), more.end());
  constexpr int64_t kThreads = 256;
  launch_on(nullptr, ceil_div(out.numel(), kThreads), kThreads, 0, arguments);
}

}  // namespace wick
