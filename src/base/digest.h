// The digests SHA-256 and SHA-1, by which servers and git name files.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wick {

enum class DigestKind { kSha1, kSha256 };

/// A digest of bytes that arrive in pieces. SHA-1 finds damage, but is no protection against bytes
/// that are made to collide.
/// Source: FIPS 180-4, sections 5 and 6.
class Digest {
 public:
  /// portable: without the CPU's own instructions for SHA-256, for tests.
  explicit Digest(DigestKind kind, bool portable = false);

  void add(const void* bytes, size_t count);
  void add(std::string_view bytes) { add(bytes.data(), bytes.size()); }
  /// The digest in lower-case hexadecimal digits: 40 of SHA-1, 64 of SHA-256. Nothing may be added
  /// afterwards.
  std::string finish();

 private:
  static constexpr size_t kBlock = 64;  // bytes
  void take_blocks(const uint8_t* bytes, size_t count);

  DigestKind kind_;
  bool portable_;
  std::array<uint32_t, 8> state_;  // SHA-1 has the first five
  std::array<uint8_t, kBlock> rest_;
  size_t rest_bytes_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace wick
