#include "runtime/kernel_compiler.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "runtime/kernel_preamble.h"
#include "wick/base/hash.h"

namespace wick::gpu {
namespace {

// ---- the library

/// What differs between the vendors' compilers.
struct Kind {
  const char *name, *prefix;  // "NVRTC", "nvrtc"
  const Library& library;
  const char *code, *code_size;  // the functions that give machine code
  const char* builtins;          // a library that the compiler opens by its bare name, "" if none
  const char* package;           // what brings it
};
constexpr Kind kHiprtc = {
    "hipRTC",
    "hiprtc",
    kHiprtcLibrary,
    "GetCode",
    "GetCodeSize",
    "",
    "hipRTC comes with ROCm 6 and newer (AMD's packages: hip-runtime-amd; Python: rocm-sdk-core)"};
constexpr Kind kNvrtc = {
    "NVRTC",
    "nvrtc",
    kNvrtcLibrary,
    "GetCUBIN",
    "GetCUBINSize",
    "libnvrtc-builtins.so.",
    "NVRTC comes with the CUDA toolkit 12 and newer (NVIDIA's packages: cuda-nvrtc-13-0; Python: "
    "nvidia-cuda-nvrtc)"};

struct Compiler {
  const Kind& kind;
  rtc::Api api{};
  Failure failure;           // why it cannot be used
  std::string version;       // "13.0"
  std::string file_facts;    // tell one build of the library from another
  std::vector<int> targets;  // NVRTC: the architectures that it knows, ascending
  std::mutex mutex;

  Compiler(const Kind& which, const std::string& beside) : kind(which) { open(beside); }

 private:
  void open(const std::string& beside) {
    const OpenedLibrary opened = open_library(kind.library, beside);
    if (!opened.handle) {
      failure = {StatusCode::kUnsupported, std::string("kernels cannot be compiled: no ") +
                                               kind.name + ": " + opened.why_none};
      if (opened.absent) failure.text += std::string("; ") + kind.package;
      return;
    }
    const std::string missing = bind(opened.handle);
    if (!missing.empty()) {
      failure = {StatusCode::kUnsupported, std::string("kernels cannot be compiled: ") +
                                               opened.file + " lacks " + missing + "; " +
                                               kind.package};
      return;
    }
    read_version(opened.file);
    // In a folder outside of the loader's path the compiler would not find its second half.
    if (*kind.builtins) {
      const std::string builtins = folder_of(opened.file) + "/" + kind.builtins + version;
      dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (api.GetNumSupportedArchs) {
      int count = 0;
      if (api.GetNumSupportedArchs(&count) == rtc::kSuccess && count > 0) {
        targets.resize(size_t(count));
        if (api.GetSupportedArchs(targets.data()) != rtc::kSuccess) targets.clear();
        std::sort(targets.begin(), targets.end());
      }
    }
  }

  /// Returns the names that the library lacks.
  std::string bind(void* handle) {
    std::string missing;
    const auto take = [&]<class F>(F*& function, const char* name) {
      const std::string symbol = std::string(kind.prefix) + name;
      function = reinterpret_cast<F*>(dlsym(handle, symbol.c_str()));
      if (!function) missing += (missing.empty() ? "" : ", ") + symbol;
    };
    take(api.GetErrorString, "GetErrorString");
    take(api.Version, "Version");
    take(api.CreateProgram, "CreateProgram");
    take(api.CompileProgram, "CompileProgram");
    take(api.DestroyProgram, "DestroyProgram");
    take(api.GetProgramLogSize, "GetProgramLogSize");
    take(api.GetProgramLog, "GetProgramLog");
    take(api.GetCodeSize, kind.code_size);
    take(api.GetCode, kind.code);
    if (&kind == &kNvrtc) {
      take(api.GetPTXSize, "GetPTXSize");
      take(api.GetPTX, "GetPTX");
      take(api.GetNumSupportedArchs, "GetNumSupportedArchs");
      take(api.GetSupportedArchs, "GetSupportedArchs");
    }
    return missing;
  }

  void read_version(const std::string& file) {
    int major = 0, minor = 0;
    api.Version(&major, &minor);
    version = std::to_string(major) + "." + std::to_string(minor);
    char* real = realpath(file.c_str(), nullptr);
    const std::string path = real ? real : file;
    std::free(real);
    // hipRTC answers 9.0 (source: ROCm/clr); the file of HIP 7.2 is libhiprtc.so.7.2.53211.
    const size_t digits = path.rfind(".so.");
    if (&kind == &kHiprtc && digits != std::string::npos) {
      version = path.substr(digits + 4);
      version = version.substr(0, version.find('.', version.find('.') + 1));
    }
    struct stat facts {};
    stat(path.c_str(), &facts);
    file_facts = path.substr(path.rfind('/') + 1) + " " + std::to_string(facts.st_size) + " " +
                 std::to_string(facts.st_mtime);
  }
};

/// Opened at the first call. Never closed.
Compiler& compiler_of(Vendor vendor, const std::string& beside) {
  if (vendor == Vendor::kAmd) {
    static Compiler& hiprtc = *new Compiler(kHiprtc, beside);
    return hiprtc;
  }
  static Compiler& nvrtc = *new Compiler(kNvrtc, beside);
  return nvrtc;
}

// ---- one compilation

/// The code to ask for.
struct Target {
  std::string option;
  bool ptx = false;
};

Failure find_target(const Compiler& compiler, const std::string& architecture, Target& target) {
  if (&compiler.kind == &kHiprtc) {
    target.option = "--offload-arch=" + architecture;
    return {};
  }
  int card = 0;
  if (std::sscanf(architecture.c_str(), "sm_%d", &card) != 1)
    return {StatusCode::kInvalidArgument,
            "expected an architecture such as sm_90, got \"" + architecture + "\""};
  // The newest that the card runs, its own if NVRTC knows it. A later card compiles PTX itself.
  int best = 0;
  for (const int known : compiler.targets)
    if (known <= card) best = known;
  if (best == 0)
    return {StatusCode::kUnsupported,
            "NVRTC " + compiler.version + " has no code for sm_" + std::to_string(card) +
                (compiler.targets.empty()
                     ? ""
                     : ": the oldest that it knows is sm_" + std::to_string(compiler.targets[0]) +
                           "; install the NVRTC of an earlier CUDA")};
  target.ptx = best != card;
  target.option = (target.ptx ? "--gpu-architecture=compute_" : "--gpu-architecture=sm_") +
                  std::to_string(best);
  return {};
}

/// A name without folders: hipRTC writes the source to a file of that name.
std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name.substr(0, 100))
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' ||
                    (c == '.' && !safe.empty())
                ? c
                : '_';
  return safe.empty() ? "kernel" : safe;
}

/// A program of the library, destroyed at the end of its scope.
struct OwnedProgram {
  const rtc::Api& api;
  rtc::Program handle = nullptr;
  explicit OwnedProgram(const rtc::Api& functions) : api(functions) {}
  ~OwnedProgram() {
    if (handle) api.DestroyProgram(&handle);
  }
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;

  /// A text or an image that the library gives in two calls.
  rtc::Result get(rtc::Result (*size_of)(rtc::Program, size_t*),
                  rtc::Result (*read)(rtc::Program, char*), std::string& bytes) const {
    size_t size = 0;
    rtc::Result result = size_of(handle, &size);
    bytes.assign(result == rtc::kSuccess ? size : 0, '\0');
    if (!bytes.empty()) result = read(handle, bytes.data());
    if (result != rtc::kSuccess) bytes.clear();
    return result;
  }
};

/// NVRTC counts the 0 at the end of its texts, hipRTC does not.
void trim(std::string& text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
}

StatusCode code_of(rtc::Result result) {
  switch (result) {
    case rtc::kErrorCompilation:
    case rtc::kErrorInvalidOption:
      return StatusCode::kInvalidArgument;
    case rtc::kErrorOutOfMemory:
      return StatusCode::kOutOfMemory;
    default:
      return StatusCode::kDeviceError;
  }
}

Failure check_texts(const KernelText& source) {
  if (source.source.empty()) return {StatusCode::kInvalidArgument, "the source is empty"};
  if (const size_t zero = source.source.find('\0'); zero != std::string::npos)
    return {StatusCode::kInvalidArgument,
            "the source has a 0 at byte " + std::to_string(zero) + ", expected text"};
  for (const std::string& option : source.options)
    if (option.find('\0') != std::string::npos)
      return {StatusCode::kInvalidArgument, "an option has a 0 in it, expected text"};
  return {};
}

}  // namespace

Failure compile_kernels(Vendor vendor, const std::string& beside, const KernelText& source,
                        CompiledKernels& compiled) {
  compiled = {};
  Compiler& compiler = compiler_of(vendor, beside);
  if (!compiler.failure.ok()) return compiler.failure;
  const std::string name = file_name(source.name);
  const std::string subject = name + " for " + source.architecture + " (" + compiler.kind.name +
                              " " + compiler.version + "): ";
  Target target;
  Failure failure = check_texts(source);
  if (failure.ok()) failure = find_target(compiler, source.architecture, target);
  if (!failure.ok()) return {failure.code, subject + failure.text};

  std::vector<const char*> options = {target.option.c_str()};
  // What the other compiler does by itself: NVRTC takes C++17, hipRTC constexpr functions without
  // __device__.
  options.push_back(vendor == Vendor::kAmd ? "-std=c++17" : "--device-as-default-execution-space");
  for (const std::string& option : source.options) options.push_back(option.c_str());
  // The compiler counts lines from those of the user's.
  const std::string text = std::string(kKernelPreamble) + "#line 1\n" + source.source;

  const std::lock_guard lock(compiler.mutex);
  const rtc::Api& api = compiler.api;
  OwnedProgram program(api);
  const auto failed = [&](const char* step, rtc::Result result) -> Failure {
    const char* meaning = api.GetErrorString(result);
    return {code_of(result), subject + step + ": " +
                                 (meaning ? meaning : "error " + std::to_string(result)) +
                                 (compiled.log.empty() ? "" : "\n" + compiled.log)};
  };
  rtc::Result result =
      api.CreateProgram(&program.handle, text.c_str(), name.c_str(), 0, nullptr, nullptr);
  if (result != rtc::kSuccess) return failed("CreateProgram", result);
  result = api.CompileProgram(program.handle, int(options.size()), options.data());
  program.get(api.GetProgramLogSize, api.GetProgramLog, compiled.log);
  trim(compiled.log);
  if (result != rtc::kSuccess) return failed("CompileProgram", result);
  result = target.ptx ? program.get(api.GetPTXSize, api.GetPTX, compiled.image)
                      : program.get(api.GetCodeSize, api.GetCode, compiled.image);
  if (result != rtc::kSuccess) return failed("GetCode", result);
  if (target.ptx) trim(compiled.image);
  if (compiled.image.empty())
    return {StatusCode::kDeviceError, subject + "the compiler succeeded, but gave no code"};
  return {};
}

Failure compiler_identity(Vendor vendor, const std::string& beside, const std::string& architecture,
                          std::string& identity) {
  const Compiler& compiler = compiler_of(vendor, beside);
  if (!compiler.failure.ok()) return compiler.failure;
  Fnv1a hash;
  hash.add(kKernelPreamble);
  hash.add(compiler.file_facts.data(), compiler.file_facts.size());
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", hash.value());
  identity = std::string(compiler.kind.prefix) + " " + compiler.version + " " + architecture + " " +
             digits;
  return {};
}

Failure give_identity(Vendor vendor, const std::string& beside, const std::string& architecture,
                      const ByteSink& identity) {
  std::string text;
  const Failure failure = compiler_identity(vendor, beside, architecture, text);
  if (failure.ok()) identity.write(identity.context, text.data(), int64(text.size()));
  return failure;
}

Failure compile_source(Vendor vendor, const std::string& beside, const std::string& architecture,
                       const KernelSource& source, const ByteSink& image, const ByteSink& log) {
  const KernelText text = {source.text,
                           source.kernel,
                           {source.options, source.options + source.num_options},
                           architecture};
  CompiledKernels compiled;
  Failure failure = compile_kernels(vendor, beside, text, compiled);
  failure.text.resize(std::min(failure.text.size(), failure.text.find('\n')));
  log.write(log.context, compiled.log.data(), int64(compiled.log.size()));
  if (failure.ok()) image.write(image.context, compiled.image.data(), int64(compiled.image.size()));
  return failure;
}

}  // namespace wick::gpu
