#include "text/grammar/token_trie.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace wick::grammars {

TokenTrie::TokenTrie(std::vector<std::string> bytes) : bytes_(std::move(bytes)) {
  for (std::string& token : bytes_)
    if (token.size() > kMaxTokenBytes) token.clear();
  tokens_.resize(bytes_.size());
  std::iota(tokens_.begin(), tokens_.end(), 0);
  std::erase_if(tokens_, [&](uint32_t id) { return bytes_[id].empty(); });
  std::sort(tokens_.begin(), tokens_.end(), [&](uint32_t a, uint32_t b) {
    const int order = bytes_[a].compare(bytes_[b]);  // as unsigned bytes
    return order != 0 ? order < 0 : a < b;
  });
  std::vector<uint32_t> path;  // nodes of the text before, by depth - 1
  const auto close = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back()) nodes_[path.back()].end = uint32_t(nodes_.size());
  };
  std::string_view before;
  for (uint32_t i = 0; i < tokens_.size(); i++) {
    const std::string_view text = bytes_[tokens_[i]];
    const auto differ = std::mismatch(before.begin(), before.end(), text.begin(), text.end());
    const size_t common = size_t(differ.first - before.begin());
    if (common < text.size()) close(common);  // else the same text again
    for (size_t at = path.size(); at < text.size(); at++) {
      path.push_back(uint32_t(nodes_.size()));
      nodes_.push_back(
          {.end = 0, .first_token = i, .depth = uint16_t(at + 1), .byte = uint8_t(text[at])});
    }
    longest_ = std::max(longest_, uint32_t(text.size()));
    before = text;
  }
  close(0);
  nodes_.push_back({uint32_t(nodes_.size()), uint32_t(tokens_.size()), 0, 0});
}

}  // namespace wick::grammars
