#include "base/host_compiler.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "base/environment.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "wick/base/error.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

bool is_usable(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    fs::create_directories(folder, error);
    if (error) return false;
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  return fs::is_directory(folder, error) && only_we_write(folder) &&
         access(folder.c_str(), W_OK | X_OK) == 0;
}

std::string wished_folder() {
  if (const auto set = environment("WICK_CACHE_DIR")) return *set;
  if (const auto cache = environment("XDG_CACHE_HOME")) return *cache + "/wick";
  if (const auto home = environment("HOME")) return *home + "/.cache/wick";
  return "";
}

/// A temporary folder of this process, removed when it exits.
class PrivateFolder {
 public:
  PrivateFolder() : owner_(getpid()) {
    std::error_code error;
    path_ = (fs::temp_directory_path(error) / "wick-XXXXXX").string();
    check(!error && mkdtemp(path_.data()), ErrorCode::kIo, path_,
          "cannot create a folder for compiled code; set WICK_CACHE_DIR to one");
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (owner_ == getpid()) fs::remove_all(path_, ignored);  // a forked child must not remove it
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  pid_t owner_;
};

HostCompiler find_compiler(const std::string& where) {
  std::string path;
  if (const auto named = environment("WICK_CXX")) {
    const auto found = find_program(*named);
    check(found.has_value(), ErrorCode::kInvalidArgument, "WICK_CXX",
          "expected a program, found no ", *named);
    path = *found;
  } else {
    for (const char* name : {"c++", "g++", "clang++"}) {
      if (path.empty()) path = find_program(name).value_or("");
    }
    check(
        !path.empty(), ErrorCode::kUnsupported, where,
        "compiling it needs c++, g++ or clang++, found none in PATH; install one or set WICK_CXX");
  }
  const Finished version = run_program({path, "--version"});
  check(version.status == 0, ErrorCode::kUnsupported, where, path, " --version exits with status ",
        version.status);
  return {path, version.output};
}

void* open_library(const std::string& path) {
  return only_we_write(path) ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
}

std::string locked_cache_folder() {
  static std::string folder;
  static pid_t owner = 0;
  if (owner == getpid()) return folder;
  owner = getpid();
  folder = wished_folder();
  std::error_code error;
  // Absolute, because the program may change its working folder and the path must not look like a
  // compiler option.
  if (!folder.empty()) folder = fs::absolute(folder, error).string();
  if (folder.empty() || error || !is_usable(folder)) {
    static std::vector<std::unique_ptr<PrivateFolder>> own;
    own.push_back(std::make_unique<PrivateFolder>());
    folder = own.back()->path();
  }
  return folder;
}

std::mutex mutex;

std::string locked_temporary_path(const std::string& ending) {
  static std::atomic<int> counter{0};
  // Each module has a counter of its own, whose address tells it from the others.
  return locked_cache_folder() + "/part-" + std::to_string(getpid()) + "-" +
         std::to_string(reinterpret_cast<uintptr_t>(&counter)) + "-" + std::to_string(counter++) +
         ending;
}

const HostCompiler& locked_compiler(const std::string& where) {
  static HostCompiler compiler;
  if (compiler.path.empty()) compiler = find_compiler(where);
  return compiler;
}

struct Remove {
  std::string path;
  ~Remove() { unlink(path.c_str()); }
};

/// Compiles to a temporary file and renames it, so that no process loads a partial library.
void compile(const std::string& where, const HostCompiler& compiler, const std::string& source,
             const std::vector<std::string>& flags, const std::string& library) {
  const Remove made{locked_temporary_path(".so")};
  const HostCompiled compiled = compile_library(compiler, source, flags, made.path);
  check(compiled.ok, ErrorCode::kInvalidArgument, where, compiler.path,
        " cannot compile it: ", first_complaints(compiled.output));
  check(chmod(made.path.c_str(), S_IRWXU) == 0 &&
            std::rename(made.path.c_str(), library.c_str()) == 0,
        ErrorCode::kIo, library, "cannot be renamed into place");
}

}  // namespace

bool only_we_write(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && (facts.st_uid == geteuid() || facts.st_uid == 0) &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string cache_key(const std::string& text) {
  // FNV-1a from two offsets.
  uint64_t a = 0xcbf29ce484222325, b = 0x6c62272e07bb0142;
  for (const char c : text) {
    a = (a ^ uint8_t(c)) * 0x100000001b3;
    b = (b ^ uint8_t(c) ^ (a >> 32)) * 0x100000001b3;
  }
  char name[40];
  std::snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return name;
}

std::string first_complaints(const std::string& output) {
  std::string result;
  int count = 0;
  for (size_t begin = 0; begin < output.size() && count < 3;) {
    const size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    if (line.find("error") != std::string::npos) {
      result += (count++ ? " | " : "") + line;
    }
    begin = end + 1;
  }
  if (result.empty()) result = output.substr(0, output.find('\n'));
  return result;
}

std::string cache_folder() {
  const std::lock_guard lock(mutex);
  return locked_cache_folder();
}

std::string temporary_path(const std::string& ending) {
  const std::lock_guard lock(mutex);
  return locked_temporary_path(ending);
}

const HostCompiler& host_compiler(std::string_view where) {
  const std::lock_guard lock(mutex);
  return locked_compiler(std::string(where));
}

HostCompiled compile_library(const HostCompiler& compiler, const std::string& source,
                             const std::vector<std::string>& flags, const std::string& library) {
  const Remove file{library + ".cpp"};
  write_text_file(file.path, source);
  std::vector<std::string> arguments{compiler.path};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), {"-o", library, file.path});
  Finished compiled = run_program(arguments);
  return {compiled.status == 0, std::move(compiled.output)};
}

void* compiled_entry(const std::string& where, const std::string& source, const std::string& entry,
                     const std::vector<std::string>& flags) {
  // Compile one at a time: compilers need memory, and a second request for the same source finds
  // the first one's result.
  const std::lock_guard lock(mutex);
  static std::map<std::string, void*> libraries;
  const HostCompiler& compiler = locked_compiler(where);
  std::string all = compiler.path + '\0' + compiler.version + '\0';
  for (const std::string& flag : flags) all += flag + '\0';
  const std::string key = cache_key(all + source);
  void*& library = libraries[key];
  if (!library) {
    const std::string path = locked_cache_folder() + "/" + key + ".so";
    library = open_library(path);
    if (!library) {  // missing, truncated by a full disk, or not owned by us
      compile(where, compiler, source, flags, path);
      library = open_library(path);
      const char* why = library ? "" : dlerror();
      check(library != nullptr, ErrorCode::kUnsupported, where, "the compiled library ", path,
            " does not load: ", why ? why : "another user can write it");
    }
  }
  void* found = dlsym(library, entry.c_str());
  check(found != nullptr, ErrorCode::kKernelNotFound, where, "expected a function extern \"C\" ",
        entry, ", found none");
  return found;
}

}  // namespace wick
