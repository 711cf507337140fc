// Environment variables that break or slow things.
#include <algorithm>

#include "doctor/checks.h"
#include "doctor/known_bad.h"

namespace wick::doctor {
namespace {

bool has_card(const Subject& subject, const std::string& backend) {
  if (backend.empty()) return true;
  return std::any_of(subject.cards.begin(), subject.cards.end(),
                     [&](const Card& card) {
                       return backend == "rocm" ? card.is_amd() : card.is_nvidia();
                     }) ||
         subject.is_wsl;
}

/// Variables that hide GPUs, from which the vendor's runtime takes numbers, or identifiers.
void check_hidden_cards(const Subject& subject, Findings* findings) {
  struct Hiding {
    const char *variable, *backend;
  };
  constexpr Hiding kHiding[] = {{"ROCR_VISIBLE_DEVICES", "rocm"},
                                {"HIP_VISIBLE_DEVICES", "rocm"},
                                {"CUDA_VISIBLE_DEVICES", "rocm"},  // HIP reads it too
                                {"GPU_DEVICE_ORDINAL", "rocm"},
                                {"CUDA_VISIBLE_DEVICES", "cuda"}};
  for (const auto& [variable, backend] : kHiding) {
    const auto found = subject.machine.environment.find(variable);
    if (found == subject.machine.environment.end() || !has_card(subject, backend)) continue;
    const BackendStatus* const status = subject.backend(backend);
    const bool hides_all = status && status->devices.empty() && !status->no_runtime;
    findings->push_back({.id = "hidden-cards",
                         .severity = hides_all ? Severity::kWarning : Severity::kNote,
                         .problem = std::string(variable) + "=\"" + found->second + "\" " +
                                    (hides_all ? "may hide every GPU"
                                               : "selects the GPUs that " + std::string(backend) +
                                                     " sees, which are numbered from 0"),
                         .cure = std::string("unset ") + variable + " to see all GPUs"});
  }
}

}  // namespace

void check_variables(const Subject& subject, Findings* findings) {
  for (const BadVariable& bad : known_bad_list().variables) {
    const std::string value = subject.variable(bad.name);
    if (value.empty() || !has_card(subject, bad.backend)) continue;
    if (!bad.values.empty() &&
        std::find(bad.values.begin(), bad.values.end(), value) == bad.values.end())
      continue;
    findings->push_back({.id = "variable-" + bad.name,
                         .severity = bad.severity,
                         .problem = bad.name + "=" + value + ": " + bad.problem,
                         .cure = bad.cure,
                         .sources = bad.sources});
  }
  check_hidden_cards(subject, findings);
}

}  // namespace wick::doctor
