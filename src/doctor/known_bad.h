// Versions and variables that are known to fail: known_bad.json.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/doctor/doctor.h"

namespace wick {

/// known_bad.json, which the build embeds.
extern const std::string_view kKnownBadText;

namespace doctor {

/// Versions of a component that fail. A range is from <= version < below; "" leaves a side open.
struct KnownBad {
  std::string id;
  Severity severity;
  std::vector<std::string>
      architectures;      // "gfx1151", or "gfx11" for all that begin so; empty: all AMD
  int min_cards = 1;      // as many cards of these
  std::string component;  // "linux", "hip", "amdgpu", "nvidia", "firmware.mes"
  std::string from, below;
  std::vector<std::string> exact;   // in place of a range
  std::string variable, value_has;  // only if the variable's value contains this word
  std::string problem, cure;
  std::vector<std::string> sources;
};

/// An environment variable with a value that breaks or slows things.
struct BadVariable {
  std::string name;
  Severity severity;
  std::vector<std::string> values;  // empty: every value
  std::string backend;  // matters only with a card of this one: "rocm", "cuda"; "": always
  std::string problem, cure;
  std::vector<std::string> sources;
};

struct KnownBadList {
  std::vector<KnownBad> versions;
  std::vector<BadVariable> variables;
};

/// Parses the list. Errors: kFormat, naming the entry.
KnownBadList parse_known_bad(std::string_view text);
/// The embedded list.
const KnownBadList& known_bad_list();

/// Compares versions by their numbers, "6.9" < "6.17.0-14"; hexadecimal ones ("0x83") by value.
/// Returns < 0, 0 or > 0. Numbers that one of them lacks count as 0.
int compare_versions(const std::string& a, const std::string& b);

}  // namespace doctor
}  // namespace wick
