#include "base/digest.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

std::string digest(DigestKind kind, std::string_view text, bool portable = false) {
  Digest digest(kind, portable);
  digest.add(text);
  return digest.finish();
}

// Source: NIST's examples of FIPS 180-4, "SHA1.pdf" and "SHA256.pdf", and its long messages.
const std::string kTwoBlocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
const std::string kMillion(1000000, 'a');

TEST(Digest, GivesTheDigestsOfNist) {
  for (const bool portable : {false, true}) {
    const auto sha256 = [&](std::string_view text) {
      return digest(DigestKind::kSha256, text, portable);
    };
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256(kTwoBlocks),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256(kMillion), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
  const auto sha1 = [](std::string_view text) { return digest(DigestKind::kSha1, text); };
  EXPECT_EQ(sha1(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1(kTwoBlocks), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1(kMillion), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Digest, DoesNotDependOnThePieces) {
  std::string text;
  for (int i = 0; i < 1000; i++) text += char(i * 31 + i / 7);
  for (const DigestKind kind : {DigestKind::kSha1, DigestKind::kSha256})
    for (size_t length = 0; length < 200; length++) {
      const std::string_view whole = std::string_view(text).substr(length, 130 + length);
      for (const size_t piece : {1, 3, 63, 64, 65}) {
        Digest in_pieces(kind);
        for (size_t at = 0; at < whole.size(); at += piece) in_pieces.add(whole.substr(at, piece));
        EXPECT_EQ(in_pieces.finish(), digest(kind, whole, true)) << length << ", " << piece;
      }
    }
}

}  // namespace
}  // namespace wick
