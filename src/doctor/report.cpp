// The diagnosis as text and as JSON.
#include <cctype>
#include <cstdio>

#include "doctor/checks.h"
#include "doctor/text.h"
#include "wick/doctor/doctor.h"

namespace wick {
namespace {

using doctor::append_paragraph;
using doctor::padded;

std::string card_line(const Card& card) {
  std::string text = doctor::describe(card);
  text += card.driver.empty() ? ", no driver" : ", " + card.driver;
  if (card.memory_bytes > 0) text += ", " + doctor::gibibytes(card.memory_bytes);
  if (card.integrated) text += ", integrated, shares " + doctor::gibibytes(card.shared_bytes);
  for (const auto& [name, version] : card.firmware)
    if (name == "mes") text += ", MES " + version;
  return text;
}

void append_backend(std::string* out, const BackendStatus& status) {
  for (const DeviceInfo& info : status.devices) {
    const std::string name =
        status.name == "cpu" ? status.name : status.name + ":" + std::to_string(info.ordinal);
    *out += padded(name, 10) + info.name + ", " + info.architecture + ", " +
            doctor::gibibytes(info.total_bytes) + "\n";
  }
  for (const std::string& why : status.unusable)
    append_paragraph(out, padded(status.name, 10), "unusable: " + why);
  if ((status.name == "rocm" || status.name == "cuda") && !status.why_none.empty())
    append_paragraph(out, padded(status.name, 10), "none: " + status.why_none);
  for (const std::string& line : status.runtime)
    append_paragraph(out, padded(status.name, 10), "runtime: " + line);
}

std::string summary(const Diagnosis& diagnosis) {
  std::string text;
  for (const Severity severity : {Severity::kProblem, Severity::kWarning, Severity::kNote})
    text += (text.empty() ? "" : ", ") +
            doctor::counted(diagnosis.count(severity), to_string(severity));
  return text;
}

Settings settings_of(const Card& card) {
  Settings settings("card");
  settings.set("pci_address", card.pci_address);
  char text[16];
  std::snprintf(text, sizeof text, "%04x:%04x", card.vendor, card.id);
  settings.set("pci_id", std::string(text));
  settings.set("vendor", card.is_amd() ? "AMD" : "NVIDIA");
  settings.set("name", card.name);
  settings.set("driver", card.driver);
  settings.set("architecture", card.architecture);
  settings.set("integrated", card.integrated);
  settings.set("memory_bytes", card.memory_bytes);
  settings.set("visible_bytes", card.visible_bytes);
  settings.set("shared_bytes", card.shared_bytes);
  settings.set("link_width", card.link_width);
  settings.set("max_link_width", card.max_link_width);
  Settings firmware("firmware");
  for (const auto& [name, version] : card.firmware) firmware.set(name, version);
  settings.set("firmware", firmware);
  return settings;
}

Setting::List list_of(const std::vector<std::string>& texts) {
  return Setting::List(texts.begin(), texts.end());
}

Settings settings_of(const BackendStatus& status) {
  Settings settings("backend");
  settings.set("name", status.name);
  settings.set("module", status.module);
  settings.set("why_none", status.why_none);
  Setting::List devices;
  for (const DeviceInfo& info : status.devices) {
    Settings device("device");
    device.set("ordinal", int64_t(info.ordinal));
    device.set("name", std::string(info.name));
    device.set("architecture", std::string(info.architecture));
    device.set("total_bytes", int64_t(info.total_bytes));
    device.set("integrated", info.integrated != 0);
    devices.push_back(device);
  }
  settings.set("devices", devices);
  settings.set("unusable", list_of(status.unusable));
  settings.set("runtime", list_of(status.runtime));
  return settings;
}

Settings settings_of(const Finding& finding) {
  Settings settings("finding");
  settings.set("id", finding.id);
  settings.set("severity", to_string(finding.severity));
  settings.set("problem", finding.problem);
  settings.set("cure", finding.cure);
  settings.set("sources", list_of(finding.sources));
  return settings;
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
}

/// Replaces `from` where no character of a name stands before or after it.
void replace_name(std::string* text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos;) {
    const size_t end = at + from.size();
    const bool starts = at == 0 || !is_name_character((*text)[at - 1]) || from[0] == '/';
    const bool ends = end == text->size() || !is_name_character((*text)[end]);
    if (starts && ends) {
      text->replace(at, from.size(), to);
      at += to.size();
    } else {
      at = end;
    }
  }
}

/// The name of a folder below `folder`, /home/ for instance, becomes USER, whoever it is.
void replace_homes(std::string* text, const std::string& folder) {
  for (size_t at = 0; (at = text->find(folder, at)) != std::string::npos;) {
    const size_t start = at + folder.size();
    size_t end = start;
    while (end < text->size() && is_name_character((*text)[end])) end++;
    if (end > start) text->replace(start, end - start, "USER");
    at = start;
  }
}

}  // namespace

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    default:
      return "problem";
  }
}

std::string to_text(const Diagnosis& diagnosis) {
  std::string out;
  for (const auto& [name, value] : diagnosis.system) out += padded(name, 14) + value + "\n";
  for (const Card& card : diagnosis.cards)
    append_paragraph(&out, padded("GPU", 14), card_line(card));
  out += "\n";
  for (const BackendStatus& status : diagnosis.backends) append_backend(&out, status);
  for (const Finding& finding : diagnosis.findings) {
    out += "\n";
    append_paragraph(&out, padded(to_string(finding.severity), 10),
                     finding.problem + " [" + finding.id + "]");
    if (!finding.cure.empty()) append_paragraph(&out, padded("  cure", 10), finding.cure);
    for (const std::string& source : finding.sources) out += padded("  see", 10) + source + "\n";
  }
  return out + "\n" + summary(diagnosis) + "\n";
}

Settings to_settings(const Diagnosis& diagnosis) {
  Settings settings("diagnosis");
  Settings system("system");
  for (const auto& [name, value] : diagnosis.system) system.set(name, value);
  settings.set("system", system);
  Setting::List cards, backends, findings;
  for (const Card& card : diagnosis.cards) cards.push_back(settings_of(card));
  for (const BackendStatus& status : diagnosis.backends) backends.push_back(settings_of(status));
  for (const Finding& finding : diagnosis.findings) findings.push_back(settings_of(finding));
  settings.set("cards", cards);
  settings.set("backends", backends);
  settings.set("findings", findings);
  return settings;
}

std::string without_personal_names(std::string text, const Machine& machine) {
  const auto value = [&](const char* name) {
    const auto found = machine.environment.find(name);
    return found == machine.environment.end() ? std::string() : found->second;
  };
  std::string home = value("HOME");
  while (home.size() > 1 && home.ends_with("/")) home.pop_back();
  if (home.size() > 1) replace_name(&text, home, "~");
  for (const char* folder : {"/home/", "/Users/", "/run/user/"}) replace_homes(&text, folder);
  const std::string host = doctor::Files(machine.root).text("/proc/sys/kernel/hostname");
  if (host != "localhost") replace_name(&text, host, "HOST");
  // A name that is also a word of the report, root for instance, tells nobody.
  for (const char* name : {"USER", "LOGNAME"})
    if (const std::string user = value(name); user.size() > 2 && user != "root")
      replace_name(&text, user, "USER");
  return text;
}

}  // namespace wick
