// Rules from a tokenizer.json. Source: HuggingFace's tokenizers, whose results these rules give.
#include <algorithm>
#include <limits>

#include "base/base64.h"
#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/characters.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/rules.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

constexpr int kDeepest = 32;  // nested Sequences

// Oniguruma's \w is not the same set as in Rust's regular expressions.
constexpr std::string_view kWords = R"([\p{L}\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]+)"
                                    R"(|[^\p{L}\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d\s]+)";
constexpr std::string_view kByteLevelWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kPunctuation = R"([\p{P}!-/:-@\[-`{-~])";

/// Errors: kFormat if a text of the file is not UTF-8.
void check_texts(const Setting& setting, const std::string& where, int depth) {
  check(depth <= 4 * kDeepest, ErrorCode::kFormat, where, "values are nested deeper than ",
        4 * kDeepest);
  const auto check_text = [&](std::string_view text) {
    check(is_utf8(text), ErrorCode::kFormat, where, "a text is not UTF-8");
  };
  if (const auto* const text = std::get_if<std::string>(&setting.value)) check_text(*text);
  if (const auto* const list = std::get_if<Setting::List>(&setting.value))
    for (const Setting& item : *list) check_texts(item, where, depth + 1);
  if (const auto* const object = std::get_if<Settings>(&setting.value))
    for (const auto& [key, value] : object->entries()) {
      check_text(key);
      check_texts(value, object->where(), depth + 1);
    }
}

/// The objects of a list; empty if it is missing.
std::vector<const Settings*> objects(const Settings& part, std::string_view key) {
  std::vector<const Settings*> list;
  const Setting* const setting = part.find(key);
  if (!setting || std::holds_alternative<std::nullptr_t>(setting->value)) return list;
  const auto* const items = std::get_if<Setting::List>(&setting->value);
  if (!items) part.fail_expected(key, "a list of objects");
  for (const Setting& item : *items) {
    const auto* const object = std::get_if<Settings>(&item.value);
    if (!object) part.fail_expected(key, "a list of objects");
    list.push_back(object);
  }
  return list;
}

[[noreturn]] void fail_unknown(const Settings& part, std::string_view kind) {
  fail(ErrorCode::kUnsupported, part.where(), "wick has no ", kind, " ",
       in_quotes(part.text("type")));
}

/// The value of `text` in a table of names.
template <class T, size_t kCount>
T one_of(const Settings& part, std::string_view key, const std::string& text,
         const std::pair<std::string_view, T> (&table)[kCount]) {
  std::string names;
  for (const auto& [name, value] : table) {
    if (name == text) return value;
    (names += names.empty() ? "" : ", ") += name;
  }
  part.fail_expected(key, "one of " + names);
}

/// {"String": TEXT} or {"Regex": EXPRESSION} of the key "pattern".
Pattern pattern_of(const Settings& part) {
  const Settings* const pattern = part.group("pattern");
  if (!pattern || !(pattern->has("String") || pattern->has("Regex")))
    part.fail_expected("pattern", "an object with \"String\" or \"Regex\"");
  if (!pattern->has("String")) return Pattern::regex(pattern->text("Regex"), part.where());
  std::string text = pattern->text("String");
  // An empty text matches between all characters, as an empty expression does.
  return text.empty() ? Pattern::regex("", part.where()) : Pattern::literal(std::move(text));
}

Behavior behavior_of(const Settings& part, const std::string& otherwise) {
  static constexpr std::pair<std::string_view, Behavior> kNames[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous},
  };
  return one_of(part, "behavior", part.text_or("behavior", otherwise), kNames);
}

bool flag(const Settings& part, std::string_view key) {
  if (!part.has(key)) part.fail_expected(key, "true or false");
  return part.flag_or(key, false);
}

std::string one_character(const Settings& part, std::string_view key) {
  std::string text = part.text(key);
  if (text.empty() || character_length(text[0]) != text.size())
    part.fail_expected(key, "one character");
  return text;
}

/// The parts of a Sequence, one after the other, or the part itself.
template <class Read>
void each_part(const Settings& part, std::string_view list, int depth, const Read& read) {
  check(depth <= kDeepest, ErrorCode::kFormat, part.where(), "Sequences are nested deeper than ",
        kDeepest);
  if (part.text("type") != "Sequence") return read(part);
  if (!part.has(list)) part.fail_expected(list, "a list of objects");
  for (const Settings* item : objects(part, list)) each_part(*item, list, depth + 1, read);
}

void read_normalizer(const Settings& part, Rules& rules) {
  const std::string type = part.text("type");
  const auto add = [&](std::unique_ptr<Step> step) {
    rules.normalizers.push_back(std::move(step));
  };
  if (type == "NFC") return add(normalize_to(Form::kNfc));
  if (type == "NFD") return add(normalize_to(Form::kNfd));
  if (type == "NFKC") return add(normalize_to(Form::kNfkc));
  if (type == "NFKD") return add(normalize_to(Form::kNfkd));
  if (type == "Lowercase") return add(lowercase());
  if (type == "Prepend") return add(prepend(part.text("prepend")));
  if (type == "Replace") return add(replace(pattern_of(part), part.text("content")));
  if (type == "Strip") return add(strip(flag(part, "strip_left"), flag(part, "strip_right")));
  if (type == "StripAccents") return add(strip_accents());
  if (type == "Nmt") return add(clean_control());
  if (type == "ByteLevel") return add(spell_bytes());
  if (type == "Precompiled") {
    const std::optional<std::string> blob = from_base64(part.text("precompiled_charsmap"));
    if (!blob) part.fail_expected("precompiled_charsmap", "base64");
    return add(map_characters(Charsmap(*blob, part.where())));
  }
  fail_unknown(part, "normalizer");
}

PrependScheme prepend_scheme(const Settings& part) {
  static constexpr std::pair<std::string_view, PrependScheme> kNames[] = {
      {"never", PrependScheme::kNever},
      {"first", PrependScheme::kFirst},
      {"always", PrependScheme::kAlways},
  };
  if (!part.flag_or("add_prefix_space", true)) return PrependScheme::kNever;
  return one_of(part, "prepend_scheme", part.text_or("prepend_scheme", "always"), kNames);
}

void read_pre_tokenizer(const Settings& part, Rules& rules) {
  const std::string type = part.text("type");
  const auto add = [&](std::unique_ptr<Step> step) {
    rules.pre_tokenizers.push_back(std::move(step));
  };
  // A ByteLevel that is the last left the spelling to the model.
  if (rules.bpe.byte_letters) {
    add(spell_bytes());
    rules.bpe.byte_letters = false;
  }
  if (type == "ByteLevel") {
    if (flag(part, "add_prefix_space")) add(add_space());
    if (part.flag_or("use_regex", true))
      add(split_at(Pattern::regex(kByteLevelWords, part.where()), Behavior::kIsolated));
    rules.bpe.byte_letters = true;
  } else if (type == "Split") {
    add(split_at(pattern_of(part), behavior_of(part, ""), flag(part, "invert")));
  } else if (type == "Metaspace") {
    const PrependScheme scheme = prepend_scheme(part);
    rules.needs_origins = rules.needs_origins || scheme == PrependScheme::kFirst;
    add(mark_spaces(one_character(part, "replacement"), scheme, part.flag_or("split", true)));
  } else if (type == "Digits") {
    add(split_at(Pattern::regex(R"(\p{N})", part.where()),
                 flag(part, "individual_digits") ? Behavior::kIsolated : Behavior::kContiguous));
  } else if (type == "Punctuation") {
    add(split_at(Pattern::regex(kPunctuation, part.where()), behavior_of(part, "Isolated")));
  } else if (type == "Whitespace") {
    add(split_at(Pattern::regex(kWords, part.where()), Behavior::kRemoved, true));
  } else if (type == "WhitespaceSplit" || type == "BertPreTokenizer") {
    add(split_at(Pattern::regex(R"(\s)", part.where()), Behavior::kRemoved));
    if (type == "BertPreTokenizer")
      add(split_at(Pattern::regex(kPunctuation, part.where()), Behavior::kIsolated));
  } else if (type == "CharDelimiterSplit") {
    add(split_at(Pattern::literal(one_character(part, "delimiter")), Behavior::kRemoved));
  } else if (type == "FixedLength") {
    add(split_every(size_t(part.integer_or("length", 5, 1))));
  } else {
    fail_unknown(part, "pre-tokenizer");
  }
}

void read_decoder(const Settings& part, Decoder& decoder) {
  const std::string type = part.text("type");
  const bool joined =
      std::any_of(decoder.begin(), decoder.end(), [](const auto& step) { return step->joins(); });
  const auto add = [&](std::unique_ptr<DecodeStep> step) { decoder.push_back(std::move(step)); };
  if (type == "ByteLevel") return add(join_letters());
  if (type == "ByteFallback") return add(decode_byte_tokens());
  if (type == "Fuse") return add(join_texts());
  if (type == "Replace")
    return add(replace_in_tokens(pattern_of(part), part.text("content"), joined));
  if (type == "Strip")
    return add(strip_tokens(one_character(part, "content"), size_t(part.integer("start")),
                            size_t(part.integer("stop")), joined));
  if (type == "Metaspace")
    return add(unmark_spaces(one_character(part, "replacement"),
                             prepend_scheme(part) != PrependScheme::kNever, joined));
  if (type == "BPEDecoder") return add(unmark_ends(part.text("suffix")));
  fail_unknown(part, "decoder");
}

/// Token ids in the file: at most this many times as large as the number of tokens, so that a list
/// by id stays in proportion to the file.
constexpr int64_t kLargestId = 64, kIdsFree = 1 << 20;

void read_vocabulary(const Settings& model, Bpe& bpe) {
  const Settings* const vocab = model.group("vocab");
  if (!vocab) model.fail_expected("vocab", "an object");
  const int64_t limit = kIdsFree + kLargestId * int64_t(vocab->entries().size());
  std::vector<const std::string*> texts;
  size_t bytes = 0;
  for (const auto& [text, setting] : vocab->entries()) {
    const auto* const id = std::get_if<int64_t>(&setting.value);
    if (!id || *id < 0 || *id >= limit)
      fail(ErrorCode::kFormat, vocab->where(), in_quotes(text), ": expected an id from 0 to ",
           limit - 1, ", got ", describe(setting));
    if (size_t(*id) >= texts.size()) texts.resize(size_t(*id) + 1);
    if (texts[size_t(*id)])
      fail(ErrorCode::kFormat, vocab->where(), in_quotes(text), ": another token has the id ", *id);
    texts[size_t(*id)] = &text;
    bytes += text.size();
  }
  bpe.vocabulary.reserve(texts.size(), bytes);
  for (const std::string* text : texts) bpe.vocabulary.add(text ? *text : std::string());
  bpe.token_count = bpe.vocabulary.size();
}

void read_merges(const Settings& model, Bpe& bpe) {
  const Setting* const setting = model.find("merges");
  const auto* const merges = setting ? std::get_if<Setting::List>(&setting->value) : nullptr;
  if (!merges) model.fail_expected("merges", "a list");
  bpe.merges.reserve(merges->size());
  const auto id_of = [&](std::string_view text) {
    const int32_t id = bpe.vocabulary.find(text);
    if (id < 0)
      fail(ErrorCode::kFormat, model.where(), "\"merges\": the vocabulary has no token ",
           in_quotes(text));
    return id;
  };
  std::string merged;
  uint32_t rank = 0;
  for (const Setting& merge : *merges) {
    std::string_view left, right;
    if (const auto* const line = std::get_if<std::string>(&merge.value)) {
      if (line->starts_with("#version")) continue;
      const size_t space = line->find(' ');
      if (space == line->npos || line->find(' ', space + 1) != line->npos)
        model.fail_expected("merges", "two tokens with a space between them");
      left = std::string_view(*line).substr(0, space);
      right = std::string_view(*line).substr(space + 1);
    } else {
      const auto* const pair = std::get_if<Setting::List>(&merge.value);
      const bool two = pair && pair->size() == 2 &&
                       std::holds_alternative<std::string>((*pair)[0].value) &&
                       std::holds_alternative<std::string>((*pair)[1].value);
      if (!two) model.fail_expected("merges", "lists of two tokens");
      left = std::get<std::string>((*pair)[0].value);
      right = std::get<std::string>((*pair)[1].value);
    }
    const int32_t left_id = id_of(left), right_id = id_of(right);
    if (right.size() < bpe.prefix.size())
      model.fail_expected("merges", "tokens with the prefix of continuing subwords");
    merged.assign(left).append(right.substr(bpe.prefix.size()));
    bpe.merges.of(left_id, right_id) = {rank++, id_of(merged)};
  }
}

/// A list of [text, score], by id.
void read_unigram(const Settings& model, Rules& rules) {
  constexpr double kUnknownPenalty = 10;
  const Setting* const setting = model.find("vocab");
  const auto* const vocab = setting ? std::get_if<Setting::List>(&setting->value) : nullptr;
  if (!vocab) model.fail_expected("vocab", "a list");
  Vocabulary& vocabulary = rules.bpe.vocabulary;
  Unigram unigram(Unigram::Precision::kDouble);
  double lowest = std::numeric_limits<double>::infinity();
  for (const Setting& item : *vocab) {
    const auto* const pair = std::get_if<Setting::List>(&item.value);
    const auto* const text =
        pair && pair->size() == 2 ? std::get_if<std::string>(&(*pair)[0].value) : nullptr;
    if (!text) model.fail_expected("vocab", "lists of a token and its score");
    const double score = Settings(model.where()).set("vocab", (*pair)[1]).real("vocab");
    check(vocabulary.add(*text), ErrorCode::kFormat, model.where(), "\"vocab\": two tokens are ",
          in_quotes(*text));
    unigram.add(*text, vocabulary.size() - 1, score, model.where());
    lowest = std::min(lowest, score);
  }
  rules.bpe.token_count = vocabulary.size();
  if (model.has("unk_id")) {
    const int64_t unknown = model.integer("unk_id");
    if (unknown >= vocabulary.size()) model.fail_expected("unk_id", "an id of the vocabulary");
    unigram.set_unknown(int32_t(unknown), lowest - kUnknownPenalty);
  }
  if (model.flag_or("byte_fallback", false)) unigram.set_byte_tokens(vocabulary);
  rules.unigram = std::move(unigram);
}

void read_model(const Settings& file, Rules& rules) {
  const Settings* const model = file.group("model");
  if (!model) file.fail_expected("model", "an object");
  const std::string type = model->text_or("type", model->has("merges") ? "BPE" : "");
  if (type == "Unigram") return read_unigram(*model, rules);
  if (type != "BPE") fail_unknown(*model, "model");
  Bpe& bpe = rules.bpe;
  bpe.prefix = model->text_or("continuing_subword_prefix", "");
  bpe.suffix = model->text_or("end_of_word_suffix", "");
  bpe.fuse_unknown = model->flag_or("fuse_unk", false);
  bpe.ignore_merges = model->flag_or("ignore_merges", false);
  read_vocabulary(*model, bpe);
  read_merges(*model, bpe);
  if (const std::string unknown = model->text_or("unk_token", ""); !unknown.empty())
    bpe.unknown = bpe.vocabulary.find(unknown);
  if (model->flag_or("byte_fallback", false))
    for (int byte = 0; byte < 256; byte++)
      bpe.byte_tokens[size_t(byte)] = bpe.vocabulary.find(spelling_of_byte(uint8_t(byte)));
  for (int byte = 0; byte < 256; byte++)
    bpe.letters[size_t(byte)] = bpe.vocabulary.find(letter_of(uint8_t(byte)));
}

/// Added tokens get the model's id of their text or the next free one, whatever id the file states.
void read_added_tokens(const Settings& file, Rules& rules) {
  Bpe& bpe = rules.bpe;
  rules.kinds.assign(size_t(bpe.token_count), Rules::kMissing);
  int32_t next = 0;
  for (int32_t id = 0; id < bpe.token_count; id++) {
    if (bpe.vocabulary.text(id).empty()) continue;
    rules.kinds[size_t(id)] = Rules::kNormal;
    next++;  // HuggingFace counts the tokens
  }
  for (const Settings* part : objects(file, "added_tokens")) {
    AddedToken token;
    token.text = part->text("content");
    token.special = part->flag_or("special", false);
    token.single_word = part->flag_or("single_word", false);
    token.left_strip = part->flag_or("lstrip", false);
    token.right_strip = part->flag_or("rstrip", false);
    token.normalized = part->flag_or("normalized", true);
    if (token.text.empty()) continue;
    token.id = bpe.vocabulary.find(token.text);
    if (const auto known = rules.ids.find(token.text); known != rules.ids.end())
      token.id = known->second;
    if (token.id < 0) {
      token.id = next++;
      rules.ids[token.text] = token.id;
      rules.spelled[token.id] = token.text;
    }
    if (rules.size() <= token.id) rules.kinds.resize(size_t(token.id) + 1, Rules::kMissing);
    Rules::Kind& kind = rules.kinds[size_t(token.id)];
    kind = token.special ? Rules::kSpecial : Rules::kAdded;
    if (!token.normalized) {
      rules.added.add(token);
      continue;
    }
    Pieces all = pieces_of(token.text, false);
    for (const auto& step : rules.normalizers) step->apply(all);
    const std::string normalized = all.pieces.empty() ? "" : std::string(all.of(all.pieces[0]));
    if (normalized != token.text) {
      rules.decoded[token.id] = normalized;
      // HuggingFace compares this text with the texts of special tokens.
      if (kind == Rules::kSpecial) kind = Rules::kAdded;
    }
    token.text = normalized;
    rules.normalized_added.add(token);
  }
}

void read_post_processor(const Settings& part, Rules& rules) {
  const std::string type = part.text("type");
  PostStep step;
  const auto token = [&](std::string_view key) {
    const Setting* const setting = part.find(key);
    const auto* const pair = setting ? std::get_if<Setting::List>(&setting->value) : nullptr;
    const auto* const id =
        pair && pair->size() == 2 ? std::get_if<int64_t>(&(*pair)[1].value) : nullptr;
    if (!id || rules.kind(*id) == Rules::kMissing)
      part.fail_expected(key, "a token and its id in the vocabulary");
    return int32_t(*id);
  };
  if (type == "ByteLevel" || type == "RobertaProcessing") {
    step.trims = part.flag_or("trim_offsets", true);
    step.keeps_first_space = part.flag_or("add_prefix_space", true);
  }
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    step.before = {token("cls")};
    step.after = {token("sep")};
  } else if (type == "TemplateProcessing") {
    const Settings* const tokens = part.group("special_tokens");
    bool behind = false;
    for (const Settings* item : objects(part, "single")) {
      if (const Settings* const sequence = item->group("Sequence")) {
        check(!behind && sequence->text("id") == "A", ErrorCode::kUnsupported, part.where(),
              "\"single\": wick has templates with one $A only");
        behind = true;
        continue;
      }
      const Settings* const special = item->group("SpecialToken");
      if (!special) part.fail_expected("single", "objects \"Sequence\" and \"SpecialToken\"");
      const Settings* const named = tokens ? tokens->group(special->text("id")) : nullptr;
      if (!named)
        part.fail_expected("special_tokens", "the token " + in_quotes(special->text("id")));
      for (const int64_t id : named->integers("ids")) {
        if (rules.kind(id) == Rules::kMissing) named->fail_expected("ids", "ids in the vocabulary");
        (behind ? step.after : step.before).push_back(int32_t(id));
      }
    }
    check(behind, ErrorCode::kUnsupported, part.where(), "\"single\": wick has templates with one ",
          "$A only");
  } else if (type != "ByteLevel") {
    fail_unknown(part, "post-processor");
  }
  if (!rules.bos && !step.before.empty()) rules.bos = step.before.front();
  if (!rules.eos && !step.after.empty()) rules.eos = step.after.back();
  rules.post_steps.push_back(std::move(step));
}

}  // namespace

std::shared_ptr<const Rules> read_json(const Settings& file) {
  for (const auto& [key, value] : file.entries()) check_texts(value, file.where(), 0);
  const auto rules = std::make_shared<Rules>();
  const std::string version = file.text_or("version", "1.0");
  check(version == "1.0", ErrorCode::kUnsupported, file.where(), "\"version\": expected \"1.0\", ",
        "got ", in_quotes(version));
  read_model(file, *rules);
  if (const Settings* const part = file.group("normalizer"))
    each_part(*part, "normalizers", 0,
              [&](const Settings& item) { read_normalizer(item, *rules); });
  read_added_tokens(file, *rules);
  if (const Settings* const part = file.group("pre_tokenizer"))
    each_part(*part, "pretokenizers", 0,
              [&](const Settings& item) { read_pre_tokenizer(item, *rules); });
  if (rules->unigram && rules->bpe.byte_letters) {
    rules->pre_tokenizers.push_back(spell_bytes());
    rules->bpe.byte_letters = false;
  }
  rules->bpe.look_for_cuts();
  if (const Settings* const part = file.group("post_processor"))
    each_part(*part, "processors", 0,
              [&](const Settings& item) { read_post_processor(item, *rules); });
  if (const Settings* const part = file.group("decoder"))
    each_part(*part, "decoders", 0,
              [&](const Settings& item) { read_decoder(item, rules->decoder); });
  else
    rules->decoder.push_back(join_with_spaces());
  rules->note_controls();
  return rules;
}

}  // namespace wick::tokenization
