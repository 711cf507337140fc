// The hash of names, texts and layouts. Freestanding: device compilers read this file too.
#pragma once

namespace wick {

/// FNV-1a with 64 bits: the same on every machine and in every process, so that files may hold its
/// values. Every step is a bijection of the state, so one changed byte always changes the hash. It
/// is no protection against texts that are made to collide.
/// Source: Fowler, Noll, Vo, Eastlake 2019, draft-eastlake-fnv-17.
class Fnv1a {
 public:
  using Value = unsigned long long;
  static constexpr Value kOffset = 0xcbf29ce484222325;

  constexpr explicit Fnv1a(Value offset = kOffset) : value_(offset) {}

  constexpr void add(const char* bytes, decltype(sizeof 0) count) {
    for (decltype(sizeof 0) i = 0; i < count; i++) mix(static_cast<unsigned char>(bytes[i]));
  }
  /// A text that ends with 0, without the 0.
  constexpr void add(const char* text) {
    for (; *text; text++) mix(static_cast<unsigned char>(*text));
  }
  /// One step with a byte, or with a word of up to 64 bits at once.
  constexpr void mix(Value word) { value_ = (value_ ^ word) * 0x100000001b3; }

  constexpr Value value() const { return value_; }

 private:
  Value value_;
};

}  // namespace wick
