// Answers of the HuggingFace hub, the cache's list of files, and names of models.
#include "hub/choose_files.h"
#include "hub/hub_paths.h"
#include "input.h"
#include "wick/base/error.h"
#include "wick/hub/hub_name.h"

namespace {

using namespace wick::hub;

template <class F>
void read(const F& f) {
  try {
    f();
  } catch (const wick::Error&) {  // NOLINT: the right answer
  }
}

void use(const Listing& listing) {
  for (const RepositoryFile& file : listing)
    if (!is_file_path(file.path) || !is_digest(file.digest())) __builtin_trap();
  read([&] { choose_files(listing, "org/name", {}); });
  read([&] { choose_files(listing, "org/name", {.choice = "q4_0"}); });
  // The cache's own form has the same files.
  if (read_tree_json(to_tree_json(listing), "list").size() > listing.size()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const std::string text(wick::fuzz::text_of(bytes, count));
  read([&] {
    Listing listing;
    add_tree_page(text, "list", listing);
    use(listing);
  });
  read([&] { use(read_tree_json(text, "list")); });
  read([&] { read_commit(text, "commit"); });
  read([&] { read_shards(text, "index"); });
  for (const std::string& name : read_search(text))
    if (!is_repository(name)) __builtin_trap();
  read([&] {
    if (const auto name = wick::parse_hub_name(text)) {
      const auto again = wick::parse_hub_name("hf://" + to_string(*name));
      if (!again || again->repository != name->repository || again->choice != name->choice ||
          again->revision != name->revision)
        __builtin_trap();
    }
  });
  return 0;
}
