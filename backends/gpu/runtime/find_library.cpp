#include "runtime/find_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace wick::gpu {
namespace {

// ---- where libraries are

enum class Root {
  kVariable,  // an environment variable that names an installation
  kSystem,    // a pattern of absolute paths
  kPython,    // the folders of packages of the Python that this process runs
};

struct LibraryFolder {
  Vendor vendor;
  Root root;
  const char* name;    // of the variable; the pattern; unused
  const char* folder;  // below it, a pattern
};

// The search order, after the libraries that are loaded and the loader's path.
// Sources: "ROCm Core SDK: transition guide" (/opt/rocm/core-VERSION since 7.12), the
// distribution list of TheRock's Python packages (rocm_sdk._dist_info), NVIDIA's wheels (nvidia/cu13/lib since CUDA 13,
// nvidia/cublas/lib and the like before).
constexpr LibraryFolder kLibraryFolders[] = {
    {Vendor::kAmd, Root::kVariable, "ROCM_PATH", "lib"},
    {Vendor::kAmd, Root::kVariable, "HIP_PATH", "lib"},
    {Vendor::kAmd, Root::kSystem, "/opt/rocm*", "lib"},
    {Vendor::kAmd, Root::kSystem, "/opt/rocm/core*", "lib"},
    {Vendor::kAmd, Root::kPython, "", "_rocm_sdk_core/lib"},
    {Vendor::kAmd, Root::kPython, "", "_rocm_sdk_libraries*/lib"},
    {Vendor::kAmd, Root::kPython, "", "torch/lib"},
    {Vendor::kNvidia, Root::kVariable, "CUDA_PATH", "lib64"},
    {Vendor::kNvidia, Root::kSystem, "/usr/local/cuda*", "lib64"},
    {Vendor::kNvidia, Root::kPython, "", "nvidia/*/lib"},
    {Vendor::kNvidia, Root::kPython, "", "torch/lib"},
};

// Below a prefix, for the Python version at %: usual ones, Fedora's and Debian's.
constexpr const char* kPackageFolders[] = {
    "lib/python%/site-packages", "lib64/python%/site-packages", "lib/python%/dist-packages"};

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

/// The folders that match a pattern, the newest version first: rocm-7.10.0 before rocm-7.9.0. A link
/// counts as the folder that it leads to: /opt/rocm as /opt/rocm-7.2.0.
std::vector<std::string> folders_like(const std::string& pattern) {
  struct Folder {
    std::string path, real;
  };
  std::vector<Folder> found;
  glob_t matches{};
  if (glob(pattern.c_str(), GLOB_ONLYDIR, nullptr, &matches) == 0) {
    for (size_t i = 0; i < matches.gl_pathc; i++) {
      char* real = realpath(matches.gl_pathv[i], nullptr);
      found.push_back({matches.gl_pathv[i], real ? real : matches.gl_pathv[i]});
      std::free(real);
    }
  }
  globfree(&matches);
  std::stable_sort(found.begin(), found.end(), [](const Folder& a, const Folder& b) {
    return strverscmp(a.real.c_str(), b.real.c_str()) > 0;
  });
  std::vector<std::string> folders;
  for (const Folder& folder : found) folders.push_back(folder.path);
  return folders;
}

/// A path as a pattern that matches itself alone.
std::string literal(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    if (std::strchr("*?[\\", c)) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// ---- the running Python

/// "/venv" of "/venv/bin/python"; "" for a relative path.
std::string prefix_of(const std::string& executable) {
  if (executable.empty() || executable[0] != '/') return "";
  const size_t name = executable.rfind('/');
  const size_t folder = name ? executable.rfind('/', name - 1) : std::string::npos;
  return folder == std::string::npos ? "" : executable.substr(0, folder);
}

/// The absolute path of the program by which a shell started this process; "" if it cannot be told.
std::string started_program() {
  std::string word;
  std::getline(std::ifstream("/proc/self/cmdline"), word, '\0');
  if (word.empty() || word.find('/') != std::string::npos) return word;
  const std::string path = value_of("PATH");
  for (size_t from = 0; from < path.size();) {
    const size_t to = std::min(path.find(':', from), path.size());
    const std::string file = path.substr(from, to - from) + "/" + word;
    if (path[from] == '/' && access(file.c_str(), X_OK) == 0) return file;
    from = to + 1;
  }
  return "";
}

/// The folders of packages of the Python in this process, if there is one. Asking it for sys.path
/// takes its global lock, which the caller's thread may be waiting for, so the folders are derived
/// from the path of its program, which is a virtual environment's own, and from the program that the
/// path leads to.
std::vector<std::string> package_folders() {
  const auto get_version =
      reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  if (!get_version) return {};
  const std::string full = get_version();  // "3.11.7 (main, ...)": a constant, which needs no lock
  const std::string version = full.substr(0, full.find('.', full.find('.') + 1));

  char real[4096];
  const ssize_t length = readlink("/proc/self/exe", real, sizeof real);
  std::vector<std::string> prefixes = {
      prefix_of(started_program()), value_of("VIRTUAL_ENV"),
      prefix_of(std::string(real, size_t(std::max<ssize_t>(length, 0))))};
  if (prefixes.back() == "/usr") prefixes.push_back("/usr/local");  // Debian's pip installs there
  if (const std::string home = value_of("HOME"); !home.empty())
    prefixes.push_back(home + "/.local");

  std::vector<std::string> folders;
  for (const std::string& prefix : prefixes) {
    if (prefix.empty() || prefix[0] != '/') continue;
    for (std::string folder : kPackageFolders) {
      folder.replace(folder.find('%'), 1, version);
      folders.push_back(prefix + "/" + folder);
    }
  }
  return folders;
}

std::vector<std::string> folders_of(const LibraryFolder& place) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& pattern) {
    for (const std::string& folder : folders_like(pattern + "/" + place.folder))
      folders.push_back(folder);
  };
  switch (place.root) {
    case Root::kVariable:
      if (const std::string path = value_of(place.name); !path.empty() && path[0] == '/')
        add(literal(path));
      break;
    case Root::kSystem:
      add(literal(value_of("WICK_SYSTEM_ROOT")) + place.name);
      break;
    case Root::kPython:
      for (const std::string& folder : package_folders()) add(literal(folder));
      break;
  }
  return folders;
}

/// "$ROCM_PATH/lib, $HIP_PATH/lib, /opt/rocm*/lib, ... of the running Python"
std::string list_places(Vendor vendor) {
  std::string list, of_python;
  for (const LibraryFolder& place : kLibraryFolders) {
    if (place.vendor != vendor) continue;
    std::string& part = place.root == Root::kPython ? of_python : list;
    if (!part.empty()) part += ", ";
    if (place.root == Root::kVariable) part += "$";
    if (place.root != Root::kPython) part += std::string(place.name) + "/";
    part += place.folder;
  }
  return list + ", the running Python's " + of_python;
}

// ---- opening

std::vector<std::string> names_of(const Library& library) {
  const std::string plain = std::string(library.stem) + ".so";
  std::vector<std::string> names;
  for (int version = library.newest; version >= library.oldest; version--)
    names.push_back(plain + "." + std::to_string(version));
  names.push_back(plain);
  return names;
}

/// Whether a file is a copy of the library: "libnvrtc.so.12", or "libnvrtc-1a2b3c4d.so.12" as wheels
/// rename it, but not "libnvrtc-builtins.so.12".
bool is_file_of(const Library& library, const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* rest = slash ? slash + 1 : path;
  const size_t length = std::strlen(library.stem);
  if (std::strncmp(rest, library.stem, length) != 0) return false;
  rest += length;
  if (*rest == '-')
    for (rest++; std::isxdigit(static_cast<unsigned char>(*rest));) rest++;
  return std::strncmp(rest, ".so", 3) == 0;
}

bool all_may_write(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && (facts.st_mode & S_IWOTH) != 0;
}

std::string file_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] ? map->l_name : name;
}

/// Tries one name or path after another and keeps the reasons.
struct Opener {
  OpenedLibrary result;
  std::string complaints;  // of files that are there

  bool take(const std::string& name, int flags) {
    result.handle = dlopen(name.c_str(), RTLD_NOW | flags);
    if (result.handle) result.file = file_of(result.handle, name);
    return result.handle != nullptr;
  }
  void complain(const std::string& text) { complaints += (complaints.empty() ? "" : "; ") + text; }
  bool from_loader(const std::string& name) {
    if (take(name, RTLD_LOCAL)) return true;
    const char* reason = dlerror();
    if (reason && !std::strstr(reason, (name + ": cannot open shared object file").c_str()))
      complain(reason);
    return false;
  }
  bool from_folder(const std::string& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const std::string path = folder + "/" + name;
      if (access(path.c_str(), F_OK) != 0) continue;
      if (all_may_write(folder) || all_may_write(path)) {
        complain(path + ": passed over, since every user may write " +
                 (all_may_write(folder) ? "its folder" : "it"));
        continue;
      }
      if (take(path, RTLD_LOCAL)) return true;
      const char* reason = dlerror();
      complain(reason ? reason : path + " cannot be loaded");
    }
    return false;
  }
};

bool open_by_search(Opener& opener, const Library& library, const std::string& beside) {
  const std::vector<std::string> names = names_of(library);
  for (const std::string& name : names)
    if (opener.take(name, RTLD_NOLOAD)) return true;
  // RTLD_NOLOAD knows the soname and the path only.
  for (const std::string& path : loaded_files(library))
    if (opener.take(path, RTLD_NOLOAD)) return true;
  if (!beside.empty() && opener.from_folder(beside, names)) return true;
  for (const std::string& name : names)
    if (opener.from_loader(name)) return true;
  for (const LibraryFolder& place : kLibraryFolders) {
    if (place.vendor != library.vendor) continue;
    for (const std::string& folder : folders_of(place))
      if (opener.from_folder(folder, names)) return true;
  }
  return false;
}

}  // namespace

std::string folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash);
}

std::vector<std::string> loaded_files(const Library& library) {
  struct Search {
    const Library& library;
    std::vector<std::string> files;
  } search{library, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* const s = static_cast<Search*>(data);
        if (is_file_of(s->library, info->dlpi_name)) s->files.push_back(info->dlpi_name);
        return 0;
      },
      &search);
  return search.files;
}

std::string warn_of_copies(const Library& library, const std::string& file_in_use) {
  std::string others;
  int count = 0;
  for (const std::string& file : loaded_files(library)) {
    count++;
    if (file != file_in_use) others += (others.empty() ? "" : ", ") + file;
  }
  if (count < 2) return "";
  return "\n" + std::to_string(count) +
         " are loaded in this process and share neither memory nor streams; wick does not use " +
         others;
}

OpenedLibrary open_library(const Library& library, const std::string& beside) {
  Opener opener;
  OpenedLibrary& result = opener.result;
  if (const std::string wanted = library.variable ? value_of(library.variable) : "";
      !wanted.empty()) {
    if (!opener.take(wanted, RTLD_LOCAL)) {
      const char* reason = dlerror();
      result.why_none = std::string(library.variable) + " is " + wanted + ": " +
                        (reason ? reason : "cannot be loaded");
    }
    return result;
  }
  if (open_by_search(opener, library, beside)) return result;
  result.absent = opener.complaints.empty();
  if (!result.absent) {
    result.why_none = "it is there but cannot be loaded: " + opener.complaints;
    return result;
  }
  std::string versions;  // ".8, .7, .6, .5"
  for (int version = library.newest; version >= library.oldest; version--)
    versions += (versions.empty() ? "." : ", .") + std::to_string(version);
  result.why_none = std::string(library.stem) + ".so" + versions +
                    " not found; searched: the loader's path, " + list_places(library.vendor);
  return result;
}

}  // namespace wick::gpu
