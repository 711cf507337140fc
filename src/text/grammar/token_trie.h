// The bytes of a vocabulary's tokens, as a trie.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::grammars {

/// The nodes are in depth-first order: those below a node follow it, up to its `end`.
class TokenTrie {
 public:
  struct Node {
    uint32_t end;
    uint32_t first_token;  // of tokens(); the next node's is the end
    uint16_t depth;        // the number of bytes of its text
    uint8_t byte;          // the last of them
  };
  static constexpr size_t kMaxTokenBytes = UINT16_MAX;

  /// bytes: by id; an empty one has no node.
  explicit TokenTrie(std::vector<std::string> bytes);

  /// Without the root, and with one more at the end.
  const std::vector<Node>& nodes() const { return nodes_; }
  uint32_t node_count() const { return uint32_t(nodes_.size() - 1); }
  /// Ids in the order of the nodes.
  const std::vector<uint32_t>& tokens() const { return tokens_; }
  int64_t size() const { return int64_t(bytes_.size()); }
  std::string_view bytes(int64_t id) const { return bytes_[size_t(id)]; }
  uint32_t longest() const { return longest_; }

 private:
  std::vector<std::string> bytes_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> tokens_;
  uint32_t longest_ = 0;
};

}  // namespace wick::grammars
