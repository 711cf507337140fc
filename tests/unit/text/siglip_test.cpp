// Bad files of SigLIP's tokenizer; tokenizer_golden_test.cpp compares its ids with transformers'.
#include "../expect.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

/// A field of protobuf with bytes of fewer than 128.
std::string field(int number, const std::string& bytes) {
  return std::string{char(number << 3 | 2), char(bytes.size())} + bytes;
}
std::string integer(int number, int value) { return std::string{char(number << 3), char(value)}; }
std::string piece(const std::string& text, int type, const std::string& more = "") {
  return field(1, field(1, text) + integer(3, type) + more);
}
const std::string kUnknown = piece("<unk>", 2), kA = piece("a", 1);

Tokenizer read(const std::string& bytes, const Settings& config = Settings("config")) {
  return Tokenizer::from_siglip(bytes, "m", config);
}

TEST(Siglip, ReadsAModel) {
  const Tokenizer t = read(kUnknown + kA + piece("</s>", 3));
  EXPECT_EQ(t.encode_ids("A!"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(t.eos(), 2);
  EXPECT_EQ(read(kUnknown + kA).eos(), 2);  // after the pieces
}

TEST(Siglip, BadFilesAreErrorsThatSayWhy) {
  EXPECT_ERROR(read(""), kFormat, "m: no piece has the type unknown");
  EXPECT_ERROR(read(kUnknown + kUnknown), kFormat, "m: two pieces are \"<unk>\"");
  EXPECT_ERROR(read(kUnknown + piece("b", 2)), kFormat, "two pieces have the type unknown");
  EXPECT_ERROR(read(piece("a", 7)), kFormat, "m: piece 0: expected a type from 1 to 6, got 7");
  EXPECT_ERROR(read(piece("\xff", 1)), kFormat, "m: piece 0: expected a text of UTF-8");
  EXPECT_ERROR(read(piece("", 1)), kFormat, "expected a text of UTF-8, got \"\"");
  EXPECT_ERROR(read(kA.substr(0, 4)), kFormat, "is cut off");
  EXPECT_ERROR(read("\x0a"), kFormat, "m: field 1 is cut off: expected 1 bytes, got 0");
  EXPECT_ERROR(read("\x0b"), kFormat, "m: field 1 has the type 3, expected 0, 1, 2 or 5");
  EXPECT_ERROR(read(std::string(11, '\xff')), kFormat, "an integer has more than 10 bytes");
  EXPECT_ERROR(read(integer(1, 5)), kFormat, "m: field 1: expected bytes, got the type 0");
  EXPECT_ERROR(read(piece("a", 1, std::string("\x15\0\0\xc0\x7f", 5))), kFormat,
               "the score of \"a\" is not finite");
  EXPECT_ERROR(read(field(2, integer(3, 2))), kUnsupported,
               "m: model_type: wick reads unigram models, 1, got 2");
  EXPECT_ERROR(read(field(2, std::string("\xc0\x01\x01"))), kUnsupported,
               "wick lacks treat_whitespace_as_suffix");
}

TEST(Siglip, BadRulesOfTheNormalizerAreErrors) {
  const auto with = [](const std::string& rules) {
    return read(kUnknown + kA + field(3, field(2, rules)));
  };
  const auto units = [](std::initializer_list<uint32_t> list) {
    std::string bytes;
    for (const uint32_t unit : list)
      for (int i = 0; i < 4; i++) bytes += char(unit >> (8 * i));
    return bytes;
  };
  EXPECT_ERROR(with("abc"), kFormat, "got fewer than 5 bytes");
  EXPECT_ERROR(with(units({8, 0})), kFormat, "the normalizer's double array does not fit");
  EXPECT_ERROR(with(units({4, 0}) + "\xff"), kFormat, "the normalizer's texts are not UTF-8");
  // The root's children lie 'b' units before unit 1, which is the child by 'b' with a value.
  const uint32_t root = ('b' ^ 1) << 10, child = 'b' | 0x100;
  const auto rules = [&](uint32_t offset, uint32_t value) {
    return units({12, root, child | offset << 10, value | 1u << 31});
  };
  const auto ids = [&](const std::string& text) {
    return with(text).encode_ids("b", {.add_special = false});
  };
  EXPECT_EQ(ids(rules(3, 0) + std::string("a\0", 2)), (std::vector<int64_t>{1}));
  EXPECT_ERROR(ids(rules(3, 2) + "a"), kFormat, "a normalizer's text starts at byte 2 of 1");
  EXPECT_ERROR(ids(rules(3, 1) + "\u00e9"), kFormat, "expected the start of a character");
  EXPECT_ERROR(ids(rules(99, 0) + "a"), kFormat, "a value lies outside the normalizer's");
}

TEST(Siglip, BadTokenizerConfigsAreErrors) {
  const auto with = [](const std::string& key, const Setting& value) {
    return read(kUnknown + kA, Settings("config").set(key, value));
  };
  EXPECT_ERROR(with("eos_token", ""), kFormat, "config: \"eos_token\": expected a token");
  EXPECT_ERROR(with("do_lower_case", 1), kFormat, "config: \"do_lower_case\"");
  EXPECT_ERROR(with("eos_token", "\xff"), kFormat, "a token is not UTF-8");
  const auto added = [&](const std::string& id, const Setting& value) {
    return with("added_tokens_decoder", Settings("config: added").set(id, value));
  };
  EXPECT_ERROR(added("x", Settings("t")), kFormat, "config: added: \"x\": expected an id below");
  EXPECT_ERROR(added("2000000", Settings("t")), kFormat, "expected an id below 1048578");
  EXPECT_ERROR(added("3", Settings("t")), kFormat, "t: \"content\"");
}

}  // namespace
}  // namespace wick
