#include "text/tokenizer/properties.h"

#include <cstdint>
#include <cstdio>
#include <span>

namespace wick::tokenization {
namespace {

/// Characters with this general category.
struct Range {
  uint32_t first, last;
  std::string_view category;
};

// Characters that PCRE2 before 10.45 does not know. Source: Unicode 16.0.0, DerivedAge and
// DerivedGeneralCategory.
constexpr Range kSince15[] = {
    // Unicode 15.0 and 15.1
    // clang-format off
    {0xcf3, 0xcf3, "Mc"}, {0xece, 0xece, "Mn"}, {0x2ffc, 0x2fff, "So"}, {0x31ef, 0x31ef, "So"},
    {0x10efd, 0x10eff, "Mn"}, {0x1123f, 0x11240, "Lo"}, {0x11241, 0x11241, "Mn"},
    {0x11b00, 0x11b09, "Po"}, {0x11f00, 0x11f01, "Mn"}, {0x11f02, 0x11f02, "Lo"},
    {0x11f03, 0x11f03, "Mc"}, {0x11f04, 0x11f10, "Lo"}, {0x11f12, 0x11f33, "Lo"},
    {0x11f34, 0x11f35, "Mc"}, {0x11f36, 0x11f3a, "Mn"}, {0x11f3e, 0x11f3f, "Mc"},
    {0x11f40, 0x11f40, "Mn"}, {0x11f41, 0x11f41, "Mc"}, {0x11f42, 0x11f42, "Mn"},
    {0x11f43, 0x11f4f, "Po"}, {0x11f50, 0x11f59, "Nd"}, {0x1342f, 0x1342f, "Lo"},
    {0x13439, 0x1343f, "Cf"}, {0x13440, 0x13440, "Mn"}, {0x13441, 0x13446, "Lo"},
    {0x13447, 0x13455, "Mn"}, {0x1b132, 0x1b132, "Lo"}, {0x1b155, 0x1b155, "Lo"},
    {0x1d2c0, 0x1d2d3, "No"}, {0x1df25, 0x1df2a, "Ll"}, {0x1e030, 0x1e06d, "Lm"},
    {0x1e08f, 0x1e08f, "Mn"}, {0x1e4d0, 0x1e4ea, "Lo"}, {0x1e4eb, 0x1e4eb, "Lm"},
    {0x1e4ec, 0x1e4ef, "Mn"}, {0x1e4f0, 0x1e4f9, "Nd"}, {0x1f6dc, 0x1f6dc, "So"},
    {0x1f774, 0x1f776, "So"}, {0x1f77b, 0x1f77f, "So"}, {0x1f7d9, 0x1f7d9, "So"},
    {0x1fa75, 0x1fa77, "So"}, {0x1fa87, 0x1fa88, "So"}, {0x1faad, 0x1faaf, "So"},
    {0x1fabb, 0x1fabd, "So"}, {0x1fabf, 0x1fabf, "So"}, {0x1face, 0x1facf, "So"},
    {0x1fada, 0x1fadb, "So"}, {0x1fae8, 0x1fae8, "So"}, {0x1faf7, 0x1faf8, "So"},
    {0x2b739, 0x2b739, "Lo"}, {0x2ebf0, 0x2ee5d, "Lo"}, {0x31350, 0x323af, "Lo"},
    // clang-format on
};
constexpr Range kSince16[] = {
    // clang-format off
    {0x897, 0x897, "Mn"}, {0x1b4e, 0x1b4f, "Po"}, {0x1b7f, 0x1b7f, "Po"}, {0x1c89, 0x1c89, "Lu"},
    {0x1c8a, 0x1c8a, "Ll"}, {0x2427, 0x2429, "So"}, {0x31e4, 0x31e5, "So"},
    {0xa7cb, 0xa7cc, "Lu"}, {0xa7cd, 0xa7cd, "Ll"}, {0xa7da, 0xa7da, "Lu"},
    {0xa7db, 0xa7db, "Ll"}, {0xa7dc, 0xa7dc, "Lu"}, {0x105c0, 0x105f3, "Lo"},
    {0x10d40, 0x10d49, "Nd"}, {0x10d4a, 0x10d4d, "Lo"}, {0x10d4e, 0x10d4e, "Lm"},
    {0x10d4f, 0x10d4f, "Lo"}, {0x10d50, 0x10d65, "Lu"}, {0x10d69, 0x10d6d, "Mn"},
    {0x10d6e, 0x10d6e, "Pd"}, {0x10d6f, 0x10d6f, "Lm"}, {0x10d70, 0x10d85, "Ll"},
    {0x10d8e, 0x10d8f, "Sm"}, {0x10ec2, 0x10ec4, "Lo"}, {0x10efc, 0x10efc, "Mn"},
    {0x11380, 0x11389, "Lo"}, {0x1138b, 0x1138b, "Lo"}, {0x1138e, 0x1138e, "Lo"},
    {0x11390, 0x113b5, "Lo"}, {0x113b7, 0x113b7, "Lo"}, {0x113b8, 0x113ba, "Mc"},
    {0x113bb, 0x113c0, "Mn"}, {0x113c2, 0x113c2, "Mc"}, {0x113c5, 0x113c5, "Mc"},
    {0x113c7, 0x113ca, "Mc"}, {0x113cc, 0x113cd, "Mc"}, {0x113ce, 0x113ce, "Mn"},
    {0x113cf, 0x113cf, "Mc"}, {0x113d0, 0x113d0, "Mn"}, {0x113d1, 0x113d1, "Lo"},
    {0x113d2, 0x113d2, "Mn"}, {0x113d3, 0x113d3, "Lo"}, {0x113d4, 0x113d5, "Po"},
    {0x113d7, 0x113d8, "Po"}, {0x113e1, 0x113e2, "Mn"}, {0x116d0, 0x116e3, "Nd"},
    {0x11bc0, 0x11be0, "Lo"}, {0x11be1, 0x11be1, "Po"}, {0x11bf0, 0x11bf9, "Nd"},
    {0x11f5a, 0x11f5a, "Mn"}, {0x13460, 0x143fa, "Lo"}, {0x16100, 0x1611d, "Lo"},
    {0x1611e, 0x16129, "Mn"}, {0x1612a, 0x1612c, "Mc"}, {0x1612d, 0x1612f, "Mn"},
    {0x16130, 0x16139, "Nd"}, {0x16d40, 0x16d42, "Lm"}, {0x16d43, 0x16d6a, "Lo"},
    {0x16d6b, 0x16d6c, "Lm"}, {0x16d6d, 0x16d6f, "Po"}, {0x16d70, 0x16d79, "Nd"},
    {0x18cff, 0x18cff, "Lo"}, {0x1cc00, 0x1ccef, "So"}, {0x1ccf0, 0x1ccf9, "Nd"},
    {0x1cd00, 0x1ceb3, "So"}, {0x1e5d0, 0x1e5ed, "Lo"}, {0x1e5ee, 0x1e5ef, "Mn"},
    {0x1e5f0, 0x1e5f0, "Lo"}, {0x1e5f1, 0x1e5fa, "Nd"}, {0x1e5ff, 0x1e5ff, "Po"},
    {0x1f8b2, 0x1f8bb, "So"}, {0x1f8c0, 0x1f8c1, "So"}, {0x1fa89, 0x1fa89, "So"},
    {0x1fa8f, 0x1fa8f, "So"}, {0x1fabe, 0x1fabe, "So"}, {0x1fac6, 0x1fac6, "So"},
    {0x1fadc, 0x1fadc, "So"}, {0x1fadf, 0x1fadf, "So"}, {0x1fae9, 0x1fae9, "So"},
    {0x1fbcb, 0x1fbef, "So"},
    // clang-format on
};

/// A script or a binary property, and the characters that PCRE2 before 10.45 lacks in it.
struct Additions {
  std::string_view name, short_name, pcre, items;
};
// Source: Oniguruma's tables of Unicode 16, which tests/golden/tokenizers/make_classes.py compares.
constexpr Additions kScripts[] = {
    // clang-format off
    {"arabic", "arab", "\\p{sc:arabic}",
     R"(\x{897}\x{10ec2}-\x{10ec4}\x{10efc}-\x{10eff})"},
    {"balinese", "bali", "\\p{sc:balinese}",
     R"(\x{1b4e}-\x{1b4f}\x{1b7f})"},
    {"common", "zyyy", "\\p{sc:common}",
     R"(\x{2427}-\x{2429}\x{2ffc}-\x{2fff}\x{31e4}-\x{31e5}\x{31ef}\x{1cc00}-\x{1ccf9})"
     R"(\x{1cd00}-\x{1ceb3}\x{1d2c0}-\x{1d2d3}\x{1f6dc}\x{1f774}-\x{1f776})"
     R"(\x{1f77b}-\x{1f77f}\x{1f7d9}\x{1f8b2}-\x{1f8bb}\x{1f8c0}-\x{1f8c1})"
     R"(\x{1fa75}-\x{1fa77}\x{1fa87}-\x{1fa89}\x{1fa8f}\x{1faad}-\x{1faaf})"
     R"(\x{1fabb}-\x{1fabf}\x{1fac6}\x{1face}-\x{1facf}\x{1fada}-\x{1fadc}\x{1fadf})"
     R"(\x{1fae8}-\x{1fae9}\x{1faf7}-\x{1faf8}\x{1fbcb}-\x{1fbef})"},
    {"cyrillic", "cyrl", "\\p{sc:cyrillic}",
     R"(\x{1c89}-\x{1c8a}\x{1e030}-\x{1e06d}\x{1e08f})"},
    {"devanagari", "deva", "\\p{sc:devanagari}",
     R"(\x{11b00}-\x{11b09})"},
    {"egyptianhieroglyphs", "egyp", "\\p{sc:egyptianhieroglyphs}",
     R"(\x{1342f}\x{13439}-\x{13455}\x{13460}-\x{143fa})"},
    {"garay", "gara", "",
     R"(\x{10d40}-\x{10d65}\x{10d69}-\x{10d85}\x{10d8e}-\x{10d8f})"},
    {"gurungkhema", "gukh", "",
     R"(\x{16100}-\x{16139})"},
    {"han", "hani", "\\p{sc:han}",
     R"(\x{2b739}\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})"},
    {"hiragana", "hira", "\\p{sc:hiragana}",
     R"(\x{1b132})"},
    {"kannada", "knda", "\\p{sc:kannada}",
     R"(\x{cf3})"},
    {"katakana", "kana", "\\p{sc:katakana}",
     R"(\x{1b155})"},
    {"kawi", "kawi", "",
     R"(\x{11f00}-\x{11f10}\x{11f12}-\x{11f3a}\x{11f3e}-\x{11f5a})"},
    {"khitansmallscript", "kits", "\\p{sc:khitansmallscript}",
     R"(\x{18cff})"},
    {"khojki", "khoj", "\\p{sc:khojki}",
     R"(\x{1123f}-\x{11241})"},
    {"kiratrai", "krai", "",
     R"(\x{16d40}-\x{16d79})"},
    {"lao", "laoo", "\\p{sc:lao}",
     R"(\x{ece})"},
    {"latin", "latn", "\\p{sc:latin}",
     R"(\x{a7cb}-\x{a7cd}\x{a7da}-\x{a7dc}\x{1df25}-\x{1df2a})"},
    {"myanmar", "mymr", "\\p{sc:myanmar}",
     R"(\x{116d0}-\x{116e3})"},
    {"nagmundari", "nagm", "",
     R"(\x{1e4d0}-\x{1e4f9})"},
    {"olonal", "onao", "",
     R"(\x{1e5d0}-\x{1e5fa}\x{1e5ff})"},
    {"sunuwar", "sunu", "",
     R"(\x{11bc0}-\x{11be1}\x{11bf0}-\x{11bf9})"},
    {"todhri", "todr", "",
     R"(\x{105c0}-\x{105f3})"},
    {"tulutigalari", "tutg", "",
     R"(\x{11380}-\x{11389}\x{1138b}\x{1138e}\x{11390}-\x{113b5}\x{113b7}-\x{113c0})"
     R"(\x{113c2}\x{113c5}\x{113c7}-\x{113ca}\x{113cc}-\x{113d5}\x{113d7}-\x{113d8})"
     R"(\x{113e1}-\x{113e2})"},
    // clang-format on
};
constexpr Additions kBinary[] = {
    // clang-format off
    {"alphabetic", "alpha", "\\p{alphabetic}",
     R"(\x{363}-\x{36f}\x{897}\x{c04}\x{cf3}\x{f82}-\x{f83}\x{1c89}-\x{1c8a})"
     R"(\x{1dd3}-\x{1de6}\x{a7cb}-\x{a7cd}\x{a7da}-\x{a7dc}\x{105c0}-\x{105f3})"
     R"(\x{10d4a}-\x{10d65}\x{10d69}\x{10d6f}-\x{10d85}\x{10ec2}-\x{10ec4}\x{10efc})"
     R"(\x{11080}-\x{11081}\x{1123f}-\x{11241}\x{11380}-\x{11389}\x{1138b}\x{1138e})"
     R"(\x{11390}-\x{113b5}\x{113b7}-\x{113c0}\x{113c2}\x{113c5}\x{113c7}-\x{113ca})"
     R"(\x{113cc}-\x{113cd}\x{113d1}\x{113d3}\x{11bc0}-\x{11be0}\x{11f00}-\x{11f10})"
     R"(\x{11f12}-\x{11f3a}\x{11f3e}-\x{11f40}\x{1342f}\x{13441}-\x{13446})"
     R"(\x{13460}-\x{143fa}\x{16100}-\x{1612e}\x{16d40}-\x{16d6c}\x{18cff}\x{1b132})"
     R"(\x{1b155}\x{1df25}-\x{1df2a}\x{1e030}-\x{1e06d}\x{1e08f}\x{1e4d0}-\x{1e4eb})"
     R"(\x{1e5d0}-\x{1e5ed}\x{1e5f0}\x{2b739}\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})"},
    {"lowercase", "lower", "\\p{lowercase}",
     R"(\x{10fc}\x{1c8a}\x{a7cd}\x{a7db}\x{a7f2}-\x{a7f4}\x{ab69}\x{10d70}-\x{10d85})"
     R"(\x{1df25}-\x{1df2a}\x{1e030}-\x{1e06d})"},
    {"uppercase", "upper", "\\p{uppercase}",
     R"(\x{1c89}\x{a7cb}-\x{a7cc}\x{a7da}\x{a7dc}\x{10d50}-\x{10d65})"},
    {"cased", "cased", "\\p{cased}",
     R"(\x{10fc}\x{1c89}-\x{1c8a}\x{a7cb}-\x{a7cd}\x{a7da}-\x{a7dc}\x{a7f2}-\x{a7f4})"
     R"(\x{ab69}\x{10d50}-\x{10d65}\x{10d70}-\x{10d85}\x{1df25}-\x{1df2a})"
     R"(\x{1e030}-\x{1e06d})"},
    {"dash", "dash", "\\p{dash}",
     R"(\x{10d6e})"},
    {"emoji", "emoji", "\\p{emoji}",
     R"(\x{1f6dc}\x{1fa75}-\x{1fa77}\x{1fa87}-\x{1fa89}\x{1fa8f}\x{1faad}-\x{1faaf})"
     R"(\x{1fabb}-\x{1fabf}\x{1fac6}\x{1face}-\x{1facf}\x{1fada}-\x{1fadc}\x{1fadf})"
     R"(\x{1fae8}-\x{1fae9}\x{1faf7}-\x{1faf8})"},
    {"emojimodifierbase", "ebase", "\\p{emojimodifierbase}",
     R"(\x{1faf7}-\x{1faf8})"},
    {"emojipresentation", "epres", "\\p{emojipresentation}",
     R"(\x{1f6dc}\x{1fa75}-\x{1fa77}\x{1fa87}-\x{1fa89}\x{1fa8f}\x{1faad}-\x{1faaf})"
     R"(\x{1fabb}-\x{1fabf}\x{1fac6}\x{1face}-\x{1facf}\x{1fada}-\x{1fadc}\x{1fadf})"
     R"(\x{1fae8}-\x{1fae9}\x{1faf7}-\x{1faf8})"},
    {"ideographic", "ideo", "\\p{ideographic}",
     R"(\x{18cff}\x{2b739}\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})"},
    {"unifiedideograph", "uideo", "\\p{unifiedideograph}",
     R"(\x{2b739}\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})"},
    // clang-format on
};
// Binary properties that have not changed since.
constexpr std::string_view kUnchanged[] = {"ahex",
                                           "asciihexdigit",
                                           "bidic",
                                           "bidicontrol",
                                           "ecomp",
                                           "emojicomponent",
                                           "emod",
                                           "emojimodifier",
                                           "extpict",
                                           "extendedpictographic",
                                           "hex",
                                           "hexdigit",
                                           "joinc",
                                           "joincontrol",
                                           "nchar",
                                           "noncharactercodepoint",
                                           "patsyn",
                                           "patternsyntax",
                                           "patws",
                                           "patternwhitespace",
                                           "qmark",
                                           "quotationmark",
                                           "radical",
                                           "ri",
                                           "regionalindicator",
                                           "vs",
                                           "variationselector",
                                           "wspace",
                                           "whitespace"};

struct Name {
  std::string_view long_name, name;
};
constexpr Name kCategories[] = {
    {"Letter", "L"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"Punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"Cntrl", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
};

void append_items(std::span<const Range> ranges, std::string_view category, std::string& items) {
  for (const Range& range : ranges) {
    if (!range.category.starts_with(category)) continue;
    char item[40];
    std::snprintf(item, sizeof item, "\\x{%x}-\\x{%x}", range.first, range.last);
    items += item;
  }
}

/// The name as Unicode compares names: without case, spaces, hyphens and underscores.
std::string folded(std::string_view name) {
  std::string result;
  for (const char c : name)
    if (c != ' ' && c != '-' && c != '_') result += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return result;
}

/// The characters of a category, or of a group of them such as "L".
std::string items_of(std::string_view category, Unicode unicode) {
  std::string items = "\\p{" + std::string(category) + "}";
  append_items(kSince15, category, items);
  if (unicode == Unicode::k16) append_items(kSince16, category, items);
  return items;
}
std::string items_of(std::initializer_list<std::string_view> categories, Unicode unicode) {
  std::string items;
  for (const std::string_view category : categories) items += items_of(category, unicode);
  return items;
}

std::optional<std::string> items_of(std::span<const Additions> rows, std::string_view name) {
  for (const Additions& row : rows)
    if (row.name == name || row.short_name == name) return std::string(row.pcre).append(row.items);
  return std::nullopt;
}

std::optional<Property> category(std::string_view name, Unicode unicode) {
  if (name == "c" || name == "other")
    return Property{items_of({"L", "M", "N", "P", "S", "Z"}, unicode), true};
  const std::string assigned =
      items_of({"L", "M", "N", "P", "S", "Z", "Cf"}, unicode) + R"(\p{Cc}\p{Co}\p{Cs})";
  if (name == "cn" || name == "unassigned") return Property{assigned, true};
  if (name == "assigned") return Property{assigned};
  if (name == "any") return Property{R"(\x{0}-\x{10ffff})"};
  if (name == "lc" || name == "casedletter") return Property{items_of({"Lu", "Ll", "Lt"}, unicode)};
  for (const Name& row : kCategories) {
    if (folded(row.long_name) != name && folded(row.name) != name) continue;
    Property property{items_of(row.name, unicode)};
    // U+1171E has become a spacing mark.
    if (row.name == "Mn") property.except = R"(\x{1171e})";
    if (row.name == "Mc") property.items += R"(\x{1171e})";
    return property;
  }
  return std::nullopt;
}

}  // namespace

std::string word_items(Unicode unicode) {
  return *items_of(kBinary, "alphabetic") + items_of({"L", "M", "Nd", "Pc"}, unicode);
}

std::optional<Property> posix_class(std::string_view name, Unicode unicode) {
  const auto items = [&](std::initializer_list<std::string_view> categories) {
    return items_of(categories, unicode);
  };
  if (name == "alpha") return Property{*items_of(kBinary, "alphabetic")};
  if (name == "upper") return Property{*items_of(kBinary, "uppercase")};
  if (name == "lower") return Property{*items_of(kBinary, "lowercase")};
  if (name == "digit") return Property{items({"Nd"})};
  if (name == "alnum") return Property{*items_of(kBinary, "alphabetic") + items({"Nd"})};
  if (name == "punct") return Property{items({"P", "S"})};
  if (name == "graph") return Property{items({"L", "M", "N", "P", "S", "Cf", "Co"})};
  if (name == "print") return Property{items({"L", "M", "N", "P", "S", "Cf", "Co", "Zs"})};
  if (name == "space") return Property{std::string(kSpaces)};
  if (name == "blank") return Property{R"(\x09\p{Zs})"};
  if (name == "cntrl") return Property{R"(\p{Cc})"};
  if (name == "xdigit") return Property{"0-9A-Fa-f"};
  if (name == "word") return Property{word_items(unicode)};
  if (name == "ascii") return Property{R"(\x00-\x7f)"};
  return std::nullopt;
}

Property property_of(std::string_view name, Unicode unicode) {
  const std::string plain = folded(name);
  if (auto found = category(plain, unicode)) return *found;
  if (plain == "word") return Property{word_items(unicode) + std::string(kOtherWord)};
  if (auto found = posix_class(plain, unicode)) return *found;
  if (auto found = items_of(kBinary, plain)) return Property{*found};
  for (const std::string_view same : kUnchanged)
    if (same == plain) return Property{"\\p{" + plain + "}"};
  if (auto found = items_of(kScripts, plain)) return Property{*found};
  return Property{"\\p{sc:" + plain + "}"};
}

std::string expression_of(const Property& property, bool negated) {
  const bool outside = property.negated != negated;
  const std::string one = (outside ? "[^" : "[") + property.items + "]";
  if (property.except.empty()) return one;
  return outside ? "(?:[" + property.except + "]|" + one + ")"
                 : "(?:(?![" + property.except + "])" + one + ")";
}

}  // namespace wick::tokenization
