#include "wick/base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace wick {
namespace {

Fnv1a::Value hash_of(const char* text) {
  Fnv1a hash;
  hash.add(text);
  return hash.value();
}

// Expected: the test vectors of draft-eastlake-fnv-17, appendix C.
TEST(Fnv1a, GivesThePublishedValues) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8u);
  constexpr Fnv1a::Value kAtCompileTime = [] {
    Fnv1a hash;
    hash.add("foobar");
    return hash.value();
  }();
  EXPECT_EQ(kAtCompileTime, 0x85944171f73967e8u);
}

TEST(Fnv1a, PiecesHashAsTheWhole) {
  const std::string text("foo\0bar\xff", 8);
  Fnv1a whole, pieces;
  whole.add(text.data(), text.size());
  for (const char c : text) pieces.add(&c, 1);
  EXPECT_EQ(whole.value(), pieces.value());
}

TEST(Fnv1a, AnotherOffsetGivesAnotherHash) {
  Fnv1a hash(1);
  hash.add("a");
  EXPECT_NE(hash.value(), hash_of("a"));
}

TEST(Fnv1a, AWordIsOneStep) {
  Fnv1a word, bytes;
  word.mix('a');
  EXPECT_EQ(word.value(), hash_of("a"));
  word.mix(0x6261);
  bytes.add("aab");
  EXPECT_NE(word.value(), bytes.value());
}

}  // namespace
}  // namespace wick
