#include "libraries/tensile_files.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace wick::gpu {
namespace {

namespace fs = std::filesystem;

/// Whether a file's name has the architecture as a word: "..._gfx90a.co", not "..._gfx90a10.co".
bool names(const std::string& file, const std::string& architecture) {
  for (size_t at = file.find(architecture); at != std::string::npos;
       at = file.find(architecture, at + 1)) {
    const size_t end = at + architecture.size();
    if (end == file.size() || !std::isalnum(static_cast<unsigned char>(file[end]))) return true;
  }
  return false;
}

/// As the libraries look: an index for the architecture, or one for all beside a file of its code.
bool has_kernels(const fs::path& folder, const std::string& architecture) {
  std::error_code error;
  if (fs::exists(folder / ("TensileLibrary_lazy_" + architecture + ".dat"), error)) return true;
  if (!fs::exists(folder / "TensileLibrary.dat", error) &&
      !fs::exists(folder / "TensileLibrary.yaml", error))
    return false;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error))
    if (names(file->path().filename(), architecture)) return true;
  return false;
}

}  // namespace

std::string missing_tensile_files(const TensileFiles& files, const std::string& library_file,
                                  const std::string& architecture) {
  const std::string target = architecture.substr(0, architecture.find(':'));
  std::error_code error;
  std::vector<fs::path> folders;
  if (const char* named = std::getenv(files.variable); named && *named) {
    folders = {named};
  } else {
    const fs::path beside = fs::weakly_canonical(library_file, error).parent_path() / files.folder;
    folders = {beside / "library"};
    // Debian has a folder for each major version between.
    for (fs::directory_iterator at(beside, error), end; !error && at != end; at.increment(error))
      if (at->path().filename() != "library") folders.push_back(at->path() / "library");
  }
  for (const fs::path& folder : folders)
    if (has_kernels(folder, target)) return "";
  return library_file + " has no kernels for " + target + " in " + folders[0].string();
}

}  // namespace wick::gpu
