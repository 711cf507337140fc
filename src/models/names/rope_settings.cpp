#include "models/names/rope_settings.h"

#include <algorithm>
#include <cmath>

#include "models/decoder/layer_sizes.h"
#include "models/names/decoder_names.h"
#include "models/names/typed_settings.h"

namespace wick {
namespace {

constexpr std::pair<const char*, RopeScalingType> kScalingTypes[] = {
    {"default", RopeScalingType::kNone},      {"linear", RopeScalingType::kLinear},
    {"dynamic", RopeScalingType::kDynamic},   {"yarn", RopeScalingType::kYarn},
    {"llama3", RopeScalingType::kLlama3},     {"su", RopeScalingType::kLongRope},
    {"longrope", RopeScalingType::kLongRope},
};
constexpr std::string_view kScalingKeys[] = {"rope_type",       "type",
                                             "rope_theta",      "max_position_embeddings",
                                             "factor",          "original_max_position_embeddings",
                                             "beta_fast",       "beta_slow",
                                             "truncate",        "attention_factor",
                                             "mscale",          "mscale_all_dim",
                                             "low_freq_factor", "high_freq_factor",
                                             "short_factor",    "long_factor"};

RopeScalingType scaling_type(const Settings& rope) {
  const char* key = rope.has("rope_type") ? "rope_type" : "type";
  return named(rope, key, rope.text_or(key, "default"), kScalingTypes);
}

/// YaRN's factor of attention. Source: Peng et al. 2023, arXiv:2309.00071, eq. 22; mscale is
/// DeepSeek's addition.
double attention_factor(const Settings& rope, double factor) {
  if (rope.has("attention_factor")) return positive(rope, "attention_factor", 1);
  const auto scale = [factor](double m) {
    return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1;
  };
  const double m = rope.real_or("mscale", 0), of_all = rope.real_or("mscale_all_dim", 0);
  return m != 0 && of_all != 0 ? scale(m) / scale(of_all) : scale(1);
}

/// LongRoPE's factor of attention. Source: Ding et al. 2024, arXiv:2402.13753, as in Phi-3.
double longrope_attention_factor(const Settings& rope, double factor, int64_t context) {
  if (rope.has("attention_factor")) return positive(rope, "attention_factor");
  if (factor <= 1) return 1;
  if (context < 2) rope.fail_expected("original_max_position_embeddings", "at least 2");
  return std::sqrt(1 + std::log(factor) / std::log(double(context)));
}

/// trained: the trained context, if the scaling does not say it.
RopeScaling scaling_of(const Settings& rope, int64_t max_position_embeddings, int64_t trained) {
  RopeScaling s;
  s.type = scaling_type(rope);
  if (s.type == RopeScalingType::kNone) return s;
  const int64_t context = rope.integer_or("original_max_position_embeddings", trained, 1);
  if ((s.type == RopeScalingType::kYarn || s.type == RopeScalingType::kLongRope) &&
      !rope.has("factor"))
    s.factor = double(max_position_embeddings) / double(context);
  else
    s.factor = positive(rope, "factor");
  switch (s.type) {
    case RopeScalingType::kNone:
    case RopeScalingType::kLinear:
      break;
    case RopeScalingType::kDynamic:
      s.original_max_position_embeddings = max_position_embeddings;
      break;
    case RopeScalingType::kYarn:
      s.original_max_position_embeddings = context;
      s.beta_fast = positive(rope, "beta_fast", s.beta_fast);
      s.beta_slow = positive(rope, "beta_slow", s.beta_slow);
      s.truncate = rope.flag_or("truncate", s.truncate);
      s.attention_factor = attention_factor(rope, s.factor);
      break;
    case RopeScalingType::kLlama3:
      s.original_max_position_embeddings = context;
      s.low_freq_factor = positive(rope, "low_freq_factor");
      s.high_freq_factor = positive(rope, "high_freq_factor");
      if (s.high_freq_factor < s.low_freq_factor)
        rope.fail_expected("high_freq_factor", "at least low_freq_factor");
      break;
    case RopeScalingType::kLongRope:
      s.original_max_position_embeddings = context;
      s.attention_factor = longrope_attention_factor(rope, s.factor, context);
      s.short_factor = rope.reals("short_factor");
      s.long_factor = rope.reals("long_factor");
      break;
  }
  return s;
}

/// Tencent's "dynamic" scaling with an alpha, which only changes theta, whatever a text's length.
/// Source: https://github.com/huggingface/transformers (Apache-2.0), hunyuan_v1_dense.
void stretch_theta(const Settings& rope, DecoderConfig* c) {
  if (c->rope_scaling.type != RopeScalingType::kDynamic || rope.real_or("alpha", 0) == 0) return;
  const double dim = double(c->head_dim);
  if (dim <= 2) rope.fail_expected("alpha", "a head_dim above 2");
  c->rope_theta *= std::pow(positive(rope, "alpha"), dim / (dim - 2));
  c->rope_scaling = {};
}

// Rope of full layers that turns some of their pairs by the frequencies of the whole head: a pair
// that does not turn has a divisor that leaves nothing of its frequency, as in GGUF files.

constexpr std::string_view kProportional = "proportional";
constexpr std::string_view kProportionalKeys[] = {"rope_type", "type", "rope_theta", "factor",
                                                  "partial_rotary_factor"};

int64_t full_pairs(const DecoderConfig& c) { return head_dim_of(c, LayerType::kFull) / 2; }

bool is_proportional(const Settings& rope, const Family& family) {
  const char* const key = rope.has("rope_type") ? "rope_type" : "type";
  return family.proportional_rope > 0 && rope.text_or(key, "") == kProportional;
}

void read_proportional_rope(const Settings& rope, const Family& family, DecoderConfig* c) {
  c->rope_theta = positive(rope, "rope_theta", c->rope_theta);
  if (rope.real_or("factor", 1) != 1) rope.fail_expected("factor", "1 beside \"proportional\"");
  set_proportional_rope(rope, rope.real_or("partial_rotary_factor", 1), c);
  for (const Settings::Entry& entry : rope.entries())
    if (!contains(kProportionalKeys, entry.first)) pass_over(rope, entry, family, &c->ignored_keys);
}

Settings proportional_setting(const DecoderConfig& c) {
  const std::vector<double>& divisors = c.rope_scaling.divisors;
  const auto turned = std::count(divisors.begin(), divisors.end(), 1.0);
  double share = double(turned) / double(divisors.size());
  while (int64_t(share * double(divisors.size())) < turned) share = std::nextafter(share, 1);
  return Settings()
      .set("rope_type", std::string(kProportional))
      .set("partial_rotary_factor", share);
}

/// Whether the type of scaling reads the key.
bool reads(RopeScalingType type, std::string_view key) {
  return type == RopeScalingType::kLongRope || (key != "short_factor" && key != "long_factor");
}

/// LongRoPE has a factor above 0 for each pair.
void require_factors_fit(const Settings& rope, const DecoderConfig& c) {
  if (c.rope_scaling.type != RopeScalingType::kLongRope) return;
  const int64_t pairs = (c.rotary_dim > 0 ? c.rotary_dim : c.head_dim) / 2;
  for (const auto& [key, factors] : {std::pair("short_factor", c.rope_scaling.short_factor),
                                     {"long_factor", c.rope_scaling.long_factor}})
    if (int64_t(factors.size()) != pairs ||
        std::any_of(factors.begin(), factors.end(), [](double factor) { return factor <= 0; }))
      rope.fail_expected(key, "a list of " + std::to_string(pairs) + " numbers above 0");
}

}  // namespace

void set_rotary_dim(const Settings& settings, double share, DecoderConfig* c) {
  const int64_t dim = int64_t(share * double(c->head_dim) + 1e-6);  // a share may be rounded down
  if (share == 1) return;
  if (share > 1 || dim < 2 || dim % 2 != 0)
    settings.fail_expected("partial_rotary_factor",
                           "an even part of head_dim " + std::to_string(c->head_dim));
  c->rotary_dim = dim;
}

void set_proportional_rope(const Settings& settings, double share, DecoderConfig* c) {
  if (share < 0 || share > 1)
    settings.fail_expected("partial_rotary_factor", "a number from 0 to 1");
  const int64_t pairs = full_pairs(*c), turned = int64_t(share * double(pairs));
  std::vector<double>& divisors = c->rope_scaling.divisors;
  divisors.assign(size_t(turned < pairs ? pairs : 0), kUnturned);
  if (turned < pairs) std::fill_n(divisors.begin(), turned, 1.0);
}

bool is_proportional(const RopeScaling& scaling) {
  const auto& divisors = scaling.divisors;
  const auto end = std::find_if(divisors.begin(), divisors.end(), [](double d) { return d != 1; });
  return scaling.type == RopeScalingType::kNone && !divisors.empty() &&
         std::all_of(end, divisors.end(), [](double d) { return d == kUnturned; });
}

void read_rope_group(const Settings& rope, const Family& family, int64_t trained,
                     DecoderConfig* c) {
  if (is_proportional(rope, family)) return read_proportional_rope(rope, family, c);
  c->rope_theta = positive(rope, "rope_theta", c->rope_theta);
  c->rope_scaling = scaling_of(rope, c->max_position_embeddings, trained);
  if (c->kv_lora_rank > 0) c->rope_mscale_all_dim = rope.real_or("mscale_all_dim", 0);
  for (const Settings::Entry& entry : rope.entries()) {
    const std::string_view key = entry.first;
    if (key == "llama_4_scaling_beta" && contains(family.keys, key)) {
      c->llama_4_scaling_beta = rope.real(key);
      if (c->rope_scaling.original_max_position_embeddings < 1)
        rope.fail_expected("original_max_position_embeddings",
                           "a number beside \"llama_4_scaling_beta\"");
      continue;
    }
    if (key == "partial_rotary_factor" && contains(family.keys, key))
      set_rotary_dim(rope, positive(rope, "partial_rotary_factor"), c);
    else if (contains(family.keys, "mrope_section") && key.starts_with("mrope_"))
      read_mrope(rope, c);
    else if (key == "alpha" && contains(family.keys, key))
      stretch_theta(rope, c);
    else if (!contains(kScalingKeys, key) || !reads(c->rope_scaling.type, key))
      pass_over(rope, entry, family, &c->ignored_keys);
  }
  require_factors_fit(rope, *c);
}

void read_local_rope(const Settings& sliding, DecoderConfig* c) {
  if (scaling_type(sliding) != RopeScalingType::kNone)
    sliding.fail_expected("rope_type", "\"default\"");
  c->rope_local_base_freq = positive(sliding, "rope_theta", c->rope_local_base_freq);
}

void read_mrope(const Settings& settings, DecoderConfig* c) {
  constexpr std::string_view kSection = "mrope_section";
  c->mrope_interleaved = settings.flag_or("mrope_interleaved", c->mrope_interleaved);
  if (!settings.has(kSection)) return;
  std::vector<int64_t> section = settings.integers(kSection);
  if (section.size() == 4 && section[3] == 0) section.pop_back();  // as GGUF files have it
  const bool counts = std::all_of(section.begin(), section.end(), [](int64_t n) { return n >= 0; });
  if (section.size() != 3 || !counts)
    settings.fail_expected(kSection, "a list of 3 numbers of pairs");
  c->mrope_section = std::move(section);
}

Setting scaling_setting(const DecoderConfig& c) {
  const RopeScaling& s = c.rope_scaling;
  Settings rope;
  for (const auto& [name, type] : kScalingTypes)
    if (s.type == type) rope.set("rope_type", name);
  if (!c.mrope_section.empty()) {
    rope.set("mrope_section", Setting::List(c.mrope_section.begin(), c.mrope_section.end()));
    rope.set("mrope_interleaved", c.mrope_interleaved);
  }
  if (s.type == RopeScalingType::kNone) return rope;
  rope.set("factor", s.factor);
  if (s.type == RopeScalingType::kLongRope) {
    rope.set("attention_factor", s.attention_factor);
    rope.set("short_factor", Setting::List(s.short_factor.begin(), s.short_factor.end()));
    rope.set("long_factor", Setting::List(s.long_factor.begin(), s.long_factor.end()));
  }
  if (s.type == RopeScalingType::kYarn || s.type == RopeScalingType::kLlama3 ||
      s.type == RopeScalingType::kLongRope)
    rope.set("original_max_position_embeddings", s.original_max_position_embeddings);
  if (s.type == RopeScalingType::kYarn) {
    rope.set("beta_fast", s.beta_fast).set("beta_slow", s.beta_slow);
    rope.set("truncate", s.truncate).set("attention_factor", s.attention_factor);
  }
  if (c.rope_mscale_all_dim != 0) rope.set("mscale_all_dim", c.rope_mscale_all_dim);
  if (c.llama_4_scaling_beta != 0) rope.set("llama_4_scaling_beta", c.llama_4_scaling_beta);
  if (s.type == RopeScalingType::kLlama3)
    rope.set("low_freq_factor", s.low_freq_factor).set("high_freq_factor", s.high_freq_factor);
  return rope;
}

Setting rope_parameters_setting(const DecoderConfig& c) {
  Settings full, sliding;
  if (is_proportional(c.rope_scaling))
    full = proportional_setting(c);
  else if (c.rope_scaling.type != RopeScalingType::kNone)
    full = std::get<Settings>(scaling_setting(c).value);
  else
    full.set("rope_type", "default");
  full.set("rope_theta", c.rope_theta);
  sliding.set("rope_type", "default").set("rope_theta", c.rope_local_base_freq);
  Settings rope;
  rope.set("full_attention", full).set("sliding_attention", sliding);
  return rope;
}

OptionalSetting gguf_rope_scaling(const GgufFile& file) {
  Settings scaling(file.metadata.where() + ": \"" + file.name("rope.scaling") + "\"");
  const auto copy = [&](const char* gguf, const char* name) {
    if (const Setting* value = file.find(gguf)) scaling.set(name, *value);
  };
  const char* const context = "rope.scaling.original_context_length";
  if (file.has_tensor("rope_factors_long.weight") && file.has_tensor("rope_factors_short.weight")) {
    scaling.set("rope_type", "longrope");
    for (const auto& [tensor, name] : {std::pair("rope_factors_long.weight", "long_factor"),
                                       {"rope_factors_short.weight", "short_factor"}}) {
      const std::vector<double> factors = file.elements(tensor);
      scaling.set(name, Setting::List(factors.begin(), factors.end()));
    }
    copy(context, "original_max_position_embeddings");
    copy("rope.scaling.attn_factor", "attention_factor");
    return scaling;
  }
  const double factor = file.real_or("rope.scaling.factor", file.real_or("rope.scale_linear", 0));
  const std::string type = file.text_or("rope.scaling.type", "linear");
  if (type == "none" || factor == 0) return {};
  scaling.set("rope_type", type).set("factor", factor);
  if (type == "yarn") {
    const char* const extrapolation = "rope.scaling.yarn_ext_factor";
    check(file.real_or(extrapolation, 1) == 1, ErrorCode::kUnsupported, file.metadata.where(), "\"",
          file.name(extrapolation), "\": expected 1, got ", file.real_or(extrapolation, 1));
    scaling.set("truncate", file.family.defaults.rope_scaling.truncate);
    copy(context, "original_max_position_embeddings");
    copy("rope.scaling.yarn_attn_factor", "attention_factor");
    copy("rope.scaling.yarn_beta_fast", "beta_fast");
    copy("rope.scaling.yarn_beta_slow", "beta_slow");
    copy("attention.temperature_scale", "llama_4_scaling_beta");
    if (const char* const tenth = "rope.scaling.yarn_log_multiplier"; file.has(tenth)) {
      // DeepSeek's models have the same mscale and mscale_all_dim, and files only say the latter.
      const double mscale = double(float(10 * file.real(tenth)));
      scaling.set("mscale", mscale).set("mscale_all_dim", mscale);
    }
  }
  return scaling;
}

}  // namespace wick
