// Versions that are known to fail.
#include <algorithm>

#include "doctor/checks.h"
#include "doctor/known_bad.h"

namespace wick::doctor {
namespace {

/// The version of a component, which of firmware is a card's; "" if unknown.
std::string version_of(const Subject& subject, const Card& card, const std::string& component) {
  constexpr std::string_view kFirmware = "firmware.";
  if (component.starts_with(kFirmware)) {
    const auto found = card.firmware.find(component.substr(kFirmware.size()));
    return found == card.firmware.end() ? "" : found->second;
  }
  if (component == "linux") return subject.kernel;
  if (component == "hip") return subject.runtime_version("rocm", "HIP");
  if (component == "amdgpu") return subject.files.text("/sys/module/amdgpu/version");
  if (component == "nvidia") return subject.files.text("/sys/module/nvidia/version");
  return "";
}

bool is_bad(const KnownBad& bad, const std::string& version) {
  if (version.empty()) return false;
  if (!bad.exact.empty())
    return std::any_of(bad.exact.begin(), bad.exact.end(), [&](const std::string& exact) {
      return compare_versions(version, exact) == 0;
    });
  return (bad.from.empty() || compare_versions(version, bad.from) >= 0) &&
         (bad.below.empty() || compare_versions(version, bad.below) < 0);
}

bool is_of(const KnownBad& bad, const Card& card) {
  if (bad.component == "nvidia") return card.is_nvidia() && card.driver == "nvidia";
  if (!card.is_amd() || card.driver != "amdgpu") return false;
  return bad.architectures.empty() ||
         std::any_of(
             bad.architectures.begin(), bad.architectures.end(),
             [&](const std::string& start) { return card.architecture.starts_with(start); });
}

bool has_word(const std::string& value, const std::string& word) {
  return ("," + value + ",").find("," + word + ",") != std::string::npos;
}

std::string title_of(const std::string& component) {
  if (component == "linux") return "Linux";
  if (component == "hip") return "HIP";
  if (component == "nvidia") return "NVIDIA's driver";
  if (component.starts_with("firmware.")) return component.substr(9) + " firmware";
  return component;
}

}  // namespace

void check_versions(const Subject& subject, Findings* findings) {
  for (const KnownBad& bad : known_bad_list().versions) {
    if (!bad.variable.empty() && !has_word(subject.variable(bad.variable), bad.value_has)) continue;
    std::vector<const Card*> cards;
    for (const Card& card : subject.cards)
      if (is_of(bad, card) && is_bad(bad, version_of(subject, card, bad.component)))
        cards.push_back(&card);
    if (int(cards.size()) < bad.min_cards) continue;
    const std::string version = version_of(subject, *cards[0], bad.component);
    std::vector<std::string> names;
    for (const Card* card : cards) names.push_back(describe(*card));
    findings->push_back({.id = bad.id,
                         .severity = bad.severity,
                         .problem = title_of(bad.component) + " " + version + " with " +
                                    joined(names) + ": " + bad.problem,
                         .cure = bad.cure,
                         .sources = bad.sources});
  }
}

}  // namespace wick::doctor
