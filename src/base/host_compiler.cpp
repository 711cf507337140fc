#include "base/host_compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
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
#include "wick/base/hash.h"

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
  check(version.status == 0, ErrorCode::kUnsupported, where, path, " --version ",
        ending_of(version));
  return {path, version.output};
}

/// "\nwick library 1 KEY\n", which follows a library's bytes: the loader ignores it.
std::string seal_of(const std::string& library) {
  return "\nwick library 1 " + cache_key(library) + "\n";
}

/// nullptr if the file is missing, was cut short or changed, or could have been written by others: the
/// loader maps the file, and a missing page of it would end the process.
void* open_library(const std::string& path) {
  if (!only_we_write(path)) return nullptr;
  try {
    std::string file = read_text_file(path);
    const size_t seal_bytes = seal_of("").size();
    if (file.size() < seal_bytes) return nullptr;
    const std::string seal = file.substr(file.size() - seal_bytes);
    file.resize(file.size() - seal_bytes);
    if (seal != seal_of(file)) return nullptr;
  } catch (const Error&) {
    return nullptr;
  }
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Returns the process's temporary folder; makes it at the first call, and anew after a fork.
std::string locked_private_folder() {
  static std::vector<std::unique_ptr<PrivateFolder>> own;
  static pid_t owner = 0;
  if (owner != getpid()) {
    own.push_back(std::make_unique<PrivateFolder>());
    owner = getpid();
  }
  return own.back()->path();
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
  if (folder.empty() || error || !is_usable(folder)) folder = locked_private_folder();
  return folder;
}

std::mutex mutex;

std::string temporary_path_in(const std::string& folder, const std::string& ending) {
  static std::atomic<int> counter{0};
  // Each module has a counter of its own, whose address tells it from the others.
  return folder + "/part-" + std::to_string(getpid()) + "-" +
         std::to_string(reinterpret_cast<uintptr_t>(&counter)) + "-" + std::to_string(counter++) +
         ending;
}

/// Whether the folder's disk has room for a compiled library.
bool has_room(const std::string& folder) {
  constexpr off_t kBytes = 1 << 20;
  const std::string path = temporary_path_in(folder, ".room");
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return false;
  const int error = posix_fallocate(file, 0, kBytes);
  close(file);
  unlink(path.c_str());
  return error == 0 || error == EINVAL || error == EOPNOTSUPP;  // the last two: it cannot tell
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

/// Compiles to a temporary file, seals it, and renames it when it is on the disk, so that no process
/// loads a partial library.
void compile(const std::string& where, const HostCompiler& compiler, const std::string& source,
             const std::vector<std::string>& flags, const std::string& library) {
  const Remove made{temporary_path_in(fs::path(library).parent_path().string(), ".so")};
  const HostCompiled compiled = compile_library(compiler, source, flags, made.path);
  check(compiled.ok, ErrorCode::kInvalidArgument, where, compiler.path,
        " cannot compile it: ", compiled.reason);
  check(access(made.path.c_str(), F_OK) == 0, ErrorCode::kInvalidArgument, where, compiler.path,
        " exits with status 0, but writes no library");
  AtomicFile sealed(library);
  const std::string bytes = read_text_file(made.path);
  sealed.write(bytes);
  sealed.write(seal_of(bytes));
  sealed.commit(S_IRWXU);
}

/// Compiles the library into the cache, or, if the cache cannot hold it, into the process's temporary
/// folder. Returns its handle.
void* compile_and_open(const std::string& where, const HostCompiler& compiler,
                       const std::string& source, const std::vector<std::string>& flags,
                       const std::string& key) {
  std::string folder = locked_cache_folder();
  const auto path = [&] { return folder + "/" + key + ".so"; };
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(path(), ignored).type();
  const bool replaceable = type == fs::file_type::not_found || type == fs::file_type::regular;
  if (!replaceable) folder = locked_private_folder();
  try {
    compile(where, compiler, source, flags, path());
  } catch (const Error&) {
    if (has_room(folder) || folder == locked_private_folder()) throw;
    folder = locked_private_folder();
    compile(where, compiler, source, flags, path());
  }
  void* const library = open_library(path());
  const char* const why = library ? "" : dlerror();
  check(library != nullptr, ErrorCode::kUnsupported, where, "the compiled library ", path(),
        " does not load: ", why ? why : "it was changed, or another user can write it");
  return library;
}

}  // namespace

bool only_we_write(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && (facts.st_uid == geteuid() || facts.st_uid == 0) &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string cache_key(const std::string& text) {
  // Two hashes from different offsets, the second of which also mixes in the first one's state.
  Fnv1a first, second(0x6c62272e07bb0142);
  for (const char c : text) {
    first.mix(uint8_t(c));
    second.mix(uint8_t(c) ^ (first.value() >> 32));
  }
  char name[40];
  std::snprintf(name, sizeof name, "%016llx%016llx", first.value(), second.value());
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
  const std::string folder = locked_cache_folder();
  return temporary_path_in(has_room(folder) ? folder : locked_private_folder(), ending);
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
  std::string reason = first_complaints(compiled.output);
  // A compiler that was killed has written nothing of use; its driver may name it.
  if (reason.empty()) reason = "it " + ending_of(compiled);
  return {compiled.status == 0, std::move(compiled.output), std::move(reason)};
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
    if (!library) library = compile_and_open(where, compiler, source, flags, key);
  }
  void* found = dlsym(library, entry.c_str());
  check(found != nullptr, ErrorCode::kKernelNotFound, where, "expected a function extern \"C\" ",
        entry, ", found none");
  return found;
}

}  // namespace wick
