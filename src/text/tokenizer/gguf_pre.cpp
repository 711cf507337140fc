// Where byte-level BPE of GGUF files cuts texts. Source of names and cuts: llama.cpp, as
// llama-cpp-python 0.3.36 carries it.
#include <algorithm>

#include "text/tokenizer/characters.h"
#include "text/tokenizer/rules.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

using Letters = PreTokenization::Letters;

std::vector<PreTokenization> make_pre_tokenizations() {
  const std::string contractions = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]";
  const std::string spaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string gpt2 =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  const std::string llama3 =
      contractions + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" + spaces;
  const std::string qwen2 =
      contractions + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" + spaces;
  const std::string qwen35 =
      contractions + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" +
      spaces;
  // Letters outside ASCII count as upper and lower case.
  const std::string tekken =
      R"([^\r\n\p{L}\p{N}]?[^\P{L}a-z]*[^\P{L}A-Z]+|[^\r\n\p{L}\p{N}]?[^\P{L}a-z]+[^\P{L}A-Z]*)"
      R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" +
      spaces;
  // llama.cpp takes \p{Lu} and the like for any letter.
  const std::string any_contraction = "(?:" + contractions + ")?";
  const std::string gpt4o = R"([^\r\n\p{L}\p{N}]?[^\P{L}a-z]*[^\P{L}A-Z]+)" + any_contraction +
                            R"(|[^\r\n\p{L}\p{N}]?[^\P{L}a-z]+[^\P{L}A-Z]*)" + any_contraction +
                            R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + spaces;
  const std::string granite =
      R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}&&[^a-z]]*[\p{L}\p{M}&&[^A-Z]]+)" + any_contraction +
      R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}&&[^a-z]]+[\p{L}\p{M}&&[^A-Z]]*)" + any_contraction +
      R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + spaces;
  const std::string letters_and_marks = R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)" + any_contraction;
  const std::string behind_letters = R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + spaces;
  const std::string signs_then_letters =
      R"([!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)";
  const std::string deepseek3 = signs_then_letters + R"([\r\n]*|)" + spaces;
  const std::string kana_and_han = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{30ff}]+)";
  const std::string older_cjk =
      R"([\x{800}-\x{9fa5}\x{ac00}-\x{d7ff}&&[^\s]]+)";  // a range too wide, as the models have it
  // Capital and small letters of an older Unicode.
  const std::string deepseek_letters =
      R"(\s?[)"
      R"(A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293})"
      R"(\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386})"
      R"(\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f})"
      R"(\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd})"
      R"(\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77})"
      R"(\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45})"
      R"(\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d})"
      R"(\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc})"
      R"(\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4})"
      R"(\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d})"
      R"(\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139})"
      R"(\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b})"
      R"(\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d})"
      R"(\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e})"
      R"(\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a})"
      R"(\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb})"
      R"(\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943})"
      R"(]+)";
  // All but separators and some punctuation; brackets and the bar are among these by mistake.
  const std::string bloom =
      R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)";
  // Digits by three from the right; the text before them stays with the first.
  const std::string digits_from_right = R"([^\p{N}]*+(?:\p{N}{1,3}(?=(?:\p{N}{3})*+(?!\p{N}))|\z))";
  const std::string han =
      R"(\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{f900}-\x{faff}\x{20000}-\x{2a6df})"
      R"(\x{2a700}-\x{2ebef}\x{2f800}-\x{2fa1f})";
  const std::string kimi = "[" + han + R"(]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^)" + han + "]]+" +
                           any_contraction + R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" + spaces;
  const std::string jais2 =
      contractions +
      R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
      R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S))"
      R"(|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s)";
  const std::string bailing =
      R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
      R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
  const std::string exaone_moe = contractions +
                                 R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})"
                                 R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
  const std::string lines = R"([^\n]+|\n+)";
  return {
      {.names = {"default"},
       .patterns = {R"([\p{P}$+<=>^~|]+)", gpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {.names = {"falcon"}, .patterns = {R"([\p{P}$+<=>^~|`]+)", gpt2, "[0-9][0-9][0-9]"}},
      {.names = {"gpt-2", "a.x-4.0", "exaone4", "gigachat", "granite-docling", "jais", "jina-de",
                 "jina-es", "jina-v1-en", "jina-v2-code", "jina-v2-de", "jina-v2-es", "mellum",
                 "modern-bert", "mpt", "olmo", "phi-2", "roberta-bpe", "trillion"},
       .patterns = {gpt2}},
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "jina-v5-nano", "lfm2",
                 "midm-2.0", "pixtral"},
       .patterns = {llama3},
       .ignore_merges = true,
       .adds_bos = true},
      {.names = {"smaug-bpe", "dbrx"}, .patterns = {llama3}},
      {.names = {"smollm", "codeshell", "command-r", "exaone", "mellum2", "minerva-7b", "refact",
                 "starcoder"},
       .patterns = {R"(\p{N})", gpt2}},
      {.names = {"qwen2", "deepseek-r1-qwen", "f2llmv2", "grok-2", "hunyuan", "kormo", "megrez",
                 "solar-open", "stablelm2"},
       .patterns = {qwen2}},
      {.names = {"qwen35"}, .patterns = {qwen35}},
      {.names = {"tekken"}, .patterns = {tekken}, .ignore_merges = true, .adds_bos = true},
      {.names = {"gpt-4o", "kanana2", "llama4", "minimax-m2", "talkie"}, .patterns = {gpt4o}},
      {.names = {"chatglm-bpe"}, .patterns = {llama3}, .has_bos = false},
      {.names = {"glm4", "glm5"}, .patterns = {llama3}, .ignore_merges = true, .has_bos = false},
      {.names = {"deepseek-v3", "hunyuan-dense", "hy_v4", "joyai-llm"},
       .patterns = {R"(\p{N}{1,3})", kana_and_han, deepseek3}},
      {.names = {"deepseek-llm"},
       .patterns = {R"([\r\n])", deepseek_letters,
                    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f})"
                    R"(\x{3001}\x{3002}]+)",
                    R"(\s+\z)", older_cjk, R"(\p{N}+)"}},
      {.names = {"deepseek-coder"},
       .patterns = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", older_cjk, R"(\p{N})"}},
      {.names = {"spark2_5"},
       .patterns = {R"(\p{N}{1,3})", kana_and_han, signs_then_letters + R"(|[\r\n]|\s+(?!\S)|\s+)",
                    R"(\p{N})"}},
      {.names = {"youtu"},
       .patterns = {R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|[\x{ff01}\x{2026}\x{201c}\x{201d})"
                    R"(\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c}\x{3001}-\x{303f})"
                    R"(\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|)" +
                        kana_and_han,
                    letters_and_marks + R"(|\p{N})" + behind_letters},
       .ignore_merges = true},
      {.names = {"tiny_aya", "cohere2moe"},
       .patterns = {digits_from_right, letters_and_marks + R"(|\p{N}{1,3})" + behind_letters}},
      {.names = {"granite-embed-multi-97m"}, .patterns = {granite}, .ignore_merges = true},
      {.names = {"afmoe"},
       .patterns = {digits_from_right,
                    R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{f900}-\x{faff}\x{3040}-\x{30ff})"
                    R"(\x{ff65}-\x{ff9f}\x{2f00}-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff})"
                    R"(\x{1780}-\x{17ff}\x{1000}-\x{109f}\x{aa60}-\x{aa7f}\x{a9e0}-\x{a9ff})"
                    R"(\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)",
                    deepseek3}},
      {.names = {"superbpe"}, .patterns = {R"(\p{N}+)", R"((?=(?:[0-9]{3})++(?![0-9])))"}},
      {.names = {"kimi-k2"}, .patterns = {kimi}, .needs_merges = false},
      {.names = {"poro-chat", "bloom", "gpt3-finnish"}, .patterns = {bloom}},
      {.names = {"viking"}, .patterns = {bloom, R"(\p{N})"}},
      {.names = {"bailingmoe", "bailingmoe2", "llada-moe"}, .patterns = {bailing}},
      {.names = {"exaone-moe"}, .patterns = {exaone_moe}},
      {.names = {"jais-2"}, .patterns = {jais2}},
      {.names = {"laguna"}, .patterns = {lines, qwen2}},
      {.names = {"minicpm5"},
       .patterns = {R"(\p{N}{1,3})",
                    contractions +
                        R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|)" + spaces},
       .ignore_merges = true},
      {.names = {"seed-coder"},
       .patterns = {contractions + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" +
                    spaces}},
      {.names = {"ufakzeka"},
       .patterns = {R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" + spaces}},
      {.names = {"chameleon"},
       .patterns = {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", R"([\t\n]|    |  )", R"(\p{N})",
                    R"([\p{P}!-/:-@\[-`{-~])", gpt2},
       .adds_bos = true},
      {.names = {"gemma4", "granite-embed-multi-311m"},
       .patterns = {lines},
       .adds_bos = true,
       .always_adds_bos = true,
       .whole_newlines = true,
       .letters = Letters::kMarkedCharacters},
      {.names = {"sarvam-moe"}, .patterns = {lines}, .letters = Letters::kMarkedCharacters},
      {.names = {"whitespace"},
       .patterns = {R"(\s+)"},
       .drops_matches = true,
       .letters = Letters::kCharacters},
  };
}

}  // namespace

const std::vector<PreTokenization>& gguf_pre_tokenizations() {
  static const std::vector<PreTokenization> table = make_pre_tokenizations();
  return table;
}

const PreTokenization& gguf_pre_tokenization(const Settings& metadata, const std::string& chosen) {
  const std::string key = "tokenizer.ggml.pre";
  std::string name = chosen;
  if (name.empty() && metadata.text_or("tokenizer.ggml.model", "") == "gemma4") name = "gemma4";
  if (name.empty()) name = metadata.text_or(key, "");
  if (name.empty()) return gguf_pre_tokenizations().front();
  for (const PreTokenization& row : gguf_pre_tokenizations())
    if (std::find(row.names.begin(), row.names.end(), name) != row.names.end()) return row;
  check(chosen.empty(), ErrorCode::kInvalidArgument, "tokenizer_pre", "wick has no rules for ",
        in_quotes(chosen));
  fail(ErrorCode::kUnsupported, metadata.where(), "\"", key, "\": wick has no rules for ",
       in_quotes(name), "; --tokenizer-pre NAME takes those of another name");
}

}  // namespace wick::tokenization
