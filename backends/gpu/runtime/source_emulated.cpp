#include "runtime/source_emulated.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/host_compiler.h"
#include "device/emulator.h"
#include "runtime/check_emulated.h"
#include "runtime/shared_words.h"
#include "runtime/source_kernel.h"
#include "runtime/watch_emulated.h"
#include "runtime/words_text.h"
#include "scalar/round_up.h"
#include "wick/base/error.h"

namespace wick::gpu::emu {
namespace {

constexpr const char* kSymbol = "wick_source_kernel";
constexpr const char* kUnmangled = "wick_unmangled_kernel";

// Hidden functions and a section each, so that only the kernel in question and its shared memory stay.
const std::vector<std::string>& flags() {
  static const std::vector<std::string> flags = {"-std=c++20",
                                                 "-O2",
                                                 "-shared",
                                                 "-fPIC",
                                                 "-ffp-contract=off",
                                                 "-fno-math-errno",
                                                 "-fno-strict-aliasing",
                                                 "-fvisibility=hidden",
                                                 "-ffunction-sections",
                                                 "-fdata-sections",
                                                 "-Wl,--gc-sections",
                                                 "-Wl,--no-undefined"};
  return flags;
}

/// In check mode the compiler puts calls before accesses to memory, which the words define
/// (WICK_WATCHED): nothing of the thread sanitizer's library is linked.
std::vector<std::string> all_flags(const HostCompiler& compiler) {
  std::vector<std::string> all = flags();
  if (!check_mode()) return all;
  all.insert(all.end(),
             {"-DWICK_WATCHED", "-fsanitize=thread", "-nodefaultlibs", "-Wl,--no-as-needed",
              "-lstdc++", "-lm", "-lc", "-lgcc_s", "-l:ld-linux-x86-64.so.2"});  // __tls_get_addr
  if (compiler.version.find("clang") != std::string::npos)
    all.insert(all.end(), {"-mllvm", "-tsan-instrument-read-before-write"});
  return all;
}

void write(const ByteSink* sink, std::string_view text) {
  sink->write(sink->context, text.data(), int64(text.size()));
}

/// Turns the errors of a function into a Status.
template <class F>
Status guarded(const F& f) {
  try {
    return f();
  } catch (const Error& e) {
    const bool invalid = e.code() == ErrorCode::kInvalidArgument;
    return failed(invalid ? StatusCode::kInvalidArgument : StatusCode::kUnsupported, e.what());
  } catch (const std::exception& e) {
    return failed(StatusCode::kOutOfMemory, e.what());
  }
}

// ---- compiling

Status compiler(int32, const ByteSink* identity) {
  return guarded([&]() -> Status {
    const HostCompiler& found = host_compiler("kernels from source");
    std::string text = found.path + "\n" + found.version + "\n" + cache_key(kEmulatedWords) + "\n";
    for (const std::string& flag : all_flags(found)) text += flag + " ";
    write(identity, text);
    return {};
  });
}

/// The thread-local memory of a library.
struct ThreadLocal {
  int64 initialized = 0;  // .tdata
  int64 shared = 0;       // .tbss: static shared memory
};
ThreadLocal thread_local_of(std::string_view image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof header) return {};
  memcpy(&header, image.data(), sizeof header);
  for (int i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr part;
    const uint64 at = header.e_phoff + uint64(i) * sizeof part;
    if (at + sizeof part > image.size()) return {};
    memcpy(&part, image.data() + at, sizeof part);
    if (part.p_type == PT_TLS) return {int64(part.p_filesz), int64(part.p_memsz - part.p_filesz)};
  }
  return {};
}

/// The file name in the compiler's complaints about the look-up of the kernel.
std::string look_up_of(const std::string& kernel) { return "wick's look-up of " + kernel; }

Status missing(const std::string& kernel) {
  return failed(StatusCode::kKernelNotFound, "expected a function extern \"C\" __global__ void " +
                                                 kernel + "(...) in the source, found none");
}

std::string whole_source(const KernelSource& source) {
  const std::string kernel = source.kernel;
  return std::string(kEmulatedWords) + "\n#line 1 \"" + kernel + "\"\n" +
         with_dynamic_shared(source.text) + "\n#line 1 \"" + look_up_of(kernel) +
         "\"\n"
         "extern \"C\" __attribute__((visibility(\"default\"))) wick::gpu::emu::SourceKernel " +
         kSymbol + " = wick::words::source_kernel<decltype(&::" + kernel + "), &::" + kernel +
         ">(\"" + kernel +
         "\");\n"
         // 0 unless the kernel is extern "C", as one that is found by its name must be on a card.
         "extern \"C\" void wick_unmangled() __asm__(\"" +
         kernel +
         "\") __attribute__((weak));\n"
         "extern \"C\" __attribute__((visibility(\"default\"))) void (*const " +
         kUnmangled + ")() = &wick_unmangled;\n";
}

Status compile(int32, const KernelSource* source, const ByteSink* image, const ByteSink* log) {
  return guarded([&]() -> Status {
    const std::string kernel = source->kernel;
    std::vector<std::string> all = all_flags(host_compiler(kernel));
    for (int i = 0; i < source->num_options; i++) all.emplace_back(source->options[i]);
    struct Library {
      std::string path = temporary_path(".so");
      ~Library() { unlink(path.c_str()); }
    } const library;
    const HostCompiled compiled =
        compile_library(host_compiler(kernel), whole_source(*source), all, library.path);
    write(log, compiled.ok || !compiled.output.empty() ? compiled.output : compiled.reason);
    if (!compiled.ok) {
      if (first_complaints(compiled.output).starts_with(look_up_of(kernel))) return missing(kernel);
      return failed(StatusCode::kInvalidArgument, "the compiler rejects the source");
    }
    const std::string made = read_text_file(library.path);
    if (const int64 shared = thread_local_of(made).shared; shared > kSharedBytes)
      return failed(StatusCode::kInvalidArgument, "its static shared memory: expected at most " +
                                                      std::to_string(kSharedBytes) +
                                                      " bytes, got " + std::to_string(shared));
    write(image, made);
    return {};
  });
}

// ---- loading

struct Module {
  void* library = nullptr;
  const SourceKernel* kernel = nullptr;
  ThreadLocal memory;
};

Status load(int32, const void* image, int64 bytes, void** out) {
  return guarded([&]() -> Status {
    const std::string_view text(static_cast<const char*>(image), size_t(bytes));
    if (!text.starts_with("\x7f"
                          "ELF"))
      return failed(StatusCode::kInvalidArgument,
                    "expected a library that the emulator has compiled from source");
    struct File {
      std::string path = temporary_path(".so");
      ~File() { unlink(path.c_str()); }
    } const file;  // the loader knows a library by its path, which must be new
    write_text_file(file.path, text);
    void* const library = dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return failed(StatusCode::kModuleNotLoaded, dlerror());
    const auto* kernel = static_cast<const SourceKernel*>(dlsym(library, kSymbol));
    if (!kernel || kernel->version != kSourceKernelVersion) {
      dlclose(library);
      return failed(StatusCode::kModuleNotLoaded,
                    "the library holds no kernel of this version of the emulator");
    }
    if (const void* const* entry = static_cast<void**>(dlsym(library, kUnmangled));
        !entry || !*entry) {
      const std::string name = kernel->name;
      dlclose(library);
      return missing(name);
    }
    auto module = std::make_unique<Module>();
    module->library = library, module->kernel = kernel, module->memory = thread_local_of(text);
    *out = module.release();
    return {};
  });
}

void unload(int32, void* module) {
  const std::unique_ptr<Module> owned(static_cast<Module*>(module));
  dlclose(owned->library);
}

Status find(int32, void* handle, const char* name, KernelFacts* facts) {
  auto& module = *static_cast<Module*>(handle);
  if (name != std::string_view(module.kernel->name))
    return failed(StatusCode::kKernelNotFound,
                  std::string("expected the kernel ") + module.kernel->name + ", got " + name);
  *facts = {&module, module.kernel->argument_bytes, module.kernel->num_arguments, kMaxThreads,
            int32(kSharedBytes - module.memory.shared)};
  return {};
}

// ---- launching

constexpr SourceOperations kOperations = {
    .barrier =
        [](void* block, int thread, const char* file, int line) {
          static_cast<Block*>(block)->barrier(thread, {file, line});
        },
    .meet =
        [](void* block, int thread, unsigned long long lanes, void* mine,
           void (*together)(void**, unsigned long long), const char* file, int line) {
          static_cast<Block*>(block)->meet_some(thread, lanes, mine, together, {file, line});
        },
    .lanes = [](void* block, int thread) -> unsigned long long {
      return static_cast<Block*>(block)->lanes_of(thread);
    },
    .refuse =
        [](void* block, int thread, const char* reason, const char* file, int line) {
          static_cast<Block*>(block)->refuse(thread, reason, {file, line});
        },
    .access =
        [](const SourceThread& thread, const void* data, int bytes, bool writes) {
          static_cast<Watch*>(thread.watch)->access(thread, data, bytes, writes);
        },
    .order = [](const SourceThread& thread,
                char how) { static_cast<Watch*>(thread.watch)->order(thread, how); },
};

/// One launch, as BoundKernel::args.
struct Launch {
  uint64 number;  // of all launches
  const Module* module;
  const KernelLaunch* from;
  uint8 poison;
  Watch* watch;
};

/// Fills the calling thread's static shared memory when a block begins. A thread runs a block from
/// its first thread to its last before another.
void begin_block(const Launch& launch, int64 block, void* dynamic) {
  static thread_local struct {
    uint64 launch = 0;
    int64 block = -1;
  } last;
  if (last.launch == launch.number && last.block == block) return;
  last.launch = launch.number, last.block = block;
  if (launch.watch && launch.from->shared_bytes > 0)
    launch.watch->add_shared(dynamic, launch.from->shared_bytes, "its dynamic shared memory");
  const ThreadLocal& memory = launch.module->memory;
  if (memory.shared == 0) return;
  launch.module->kernel->touch();
  void* start = nullptr;
  if (dlinfo(launch.module->library, RTLD_DI_TLS_DATA, &start) != 0 || !start) return;
  char* const shared = static_cast<char*>(start) + memory.initialized;
  memset(shared, launch.poison, size_t(memory.shared));
  if (launch.watch) launch.watch->add_shared(shared, memory.shared, "its static shared memory");
}

void run_thread(const BoundKernel& kernel, Block* block, void* shared, int thread,
                const int at[3]) {
  const auto& launch = *static_cast<const Launch*>(kernel.args);
  const KernelLaunch& from = *launch.from;
  begin_block(launch, (int64(at[2]) * kernel.grid[1] + at[1]) * kernel.grid[0] + at[0], shared);
  const SourceThread self{&kOperations,
                          block,
                          thread,
                          kernel.wave,
                          {unsigned(at[0]), unsigned(at[1]), unsigned(at[2])},
                          {from.block[0], from.block[1], from.block[2]},
                          {from.grid[0], from.grid[1], from.grid[2]},
                          shared,
                          launch.watch};
  launch.module->kernel->run(from.arguments, self);
}

/// Runs the launch in the way that this thread is at. watch: for a way that runs one thread at a time,
/// or nullptr.
Status launch_one(int32 device, const Module& module, const KernelLaunch& from, ErrorRecord* record,
                  Watch* watch) {
  static std::atomic<uint64> count{0};
  const Running& now = running();
  const Launch launch{++count, &module, &from, now.way.poison, watch};
  constexpr int64 kAligned = 16;
  const BoundKernel kernel{.threads = int(from.block[0] * from.block[1] * from.block[2]),
                           .wave = device,
                           .grid = {int(from.grid[0]), int(from.grid[1]), int(from.grid[2])},
                           .layout = "",
                           .sums_by_layout = false,
                           .shared_bytes = round_up(int64(from.shared_bytes), kAligned),
                           .args = &launch,
                           .args_bytes = 0,
                           .record = record,
                           .thread = run_thread};
  const char* const failure = run(kernel, now.way);
  const std::string complaint = failure ? failure : watch ? watch->complaint() : "";
  if (complaint.empty()) return {};
  std::string text = std::string(from.name) + ": " + complaint + " (emu:" + std::to_string(device);
  if (now.way_name) text += std::string(", ") + now.way_name;
  return failed(StatusCode::kDeviceError, text + ")");
}

/// A kernel's memory as check mode knows it: what its pointers point to, to the end of each tensor.
class Operands {
 public:
  Operands(const Module& module, const KernelLaunch& from) {
    for (int i = 0; i < module.kernel->num_arguments; i++) {
      const SourceParameter& p = module.kernel->parameters[i];
      const auto* const value = static_cast<const char*>(from.arguments[i]);
      // A struct may hold pointers.
      for (int at = 0; at + int(sizeof(void*)) <= p.bytes; at += int(sizeof(void*))) {
        void* pointer = nullptr;
        memcpy(&pointer, value + at, sizeof pointer);
        if (p.kind)
          add(pointer, dtype_of(p), p.writes);
        else
          add(pointer, DType::kU8, true);
      }
    }
  }
  const std::vector<View>& read() const { return read_; }
  const std::vector<View>& written() const { return written_; }
  std::vector<Watch::Region> written_regions() const {
    std::vector<Watch::Region> regions;
    for (size_t i = 0; i < written_.size(); i++) {
      const char* const begin = written_[i].as<char>();
      regions.push_back({begin, begin + bytes_of(written_[i].dtype, written_[i].numel()),
                         "output " + std::to_string(i), false});
    }
    return regions;
  }

 private:
  static DType dtype_of(const SourceParameter& p) {
    if (p.kind == 'f') return p.element_bytes == 8 ? DType::kF64 : DType::kF32;
    const bool is_signed = p.kind == 'i';
    switch (p.element_bytes) {
      case 2:
        return is_signed ? DType::kI16 : DType::kU16;
      case 4:
        return is_signed ? DType::kI32 : DType::kU32;
      case 8:
        return is_signed ? DType::kI64 : DType::kU64;
      default:
        return DType::kU8;
    }
  }
  void add(void* data, DType dtype, bool writes) {
    const int64 bytes = data ? bytes_from(data) : 0;
    if (bytes == 0) return;
    View view{data, dtype, 1, {bytes / dtype_size(dtype)}, {1}};
    for (std::vector<View>* list : {&read_, &written_})
      for (View& other : *list)
        if (other.data == data && (list == &written_ || !writes)) return;
    (writes ? written_ : read_).push_back(view);
  }
  std::vector<View> read_, written_;
};

Status launch(int32 device, void* function, const KernelLaunch* from, void* stream) {
  const auto& module = *static_cast<const Module*>(function);
  if (is_captured(device, stream))
    return failed(StatusCode::kUnsupported,
                  std::string(from->name) + ": the emulator captures no kernel from source");
  ErrorRecord* const record = record_of(device, stream);
  if (!check_mode()) return launch_one(device, module, *from, record, nullptr);
  const Operands operands(module, *from);
  const auto run = [&] {
    if (!running().way.one_by_one) return launch_one(device, module, *from, record, nullptr);
    Watch watch(operands.written_regions());
    return launch_one(device, module, *from, record, &watch);
  };
  const Op op(from->name, "");
  const Call call{.in = operands.read().data(),
                  .out = operands.written().data(),
                  .num_in = int32(operands.read().size()),
                  .num_out = int32(operands.written().size()),
                  .op = &op,
                  .attributes = nullptr,
                  .device = device,
                  .stream = stream,
                  .scratch = nullptr,
                  .scratch_bytes = 0};
  // It reads what it writes, for all that is known, and it may add floats in any order.
  return run_in_all_ways(call, "from source", kKernelAccumulates | kKernelUnordered, record, run);
}

}  // namespace

constexpr RuntimeCode kSourceCode = {
    .version = kRuntimeCodeVersion,
    .struct_size = sizeof(RuntimeCode),
    .load = load,
    .unload = unload,
    .find = find,
    .launch = launch,
    .compiler = compiler,
    .compile = compile,
};

}  // namespace wick::gpu::emu
