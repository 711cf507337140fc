#include "arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

namespace wick::cli {
namespace {

/// Source: Damerau 1964; the variant that edits no substring twice.
size_t distance(std::string_view a, std::string_view b) {
  // row[j]: edits from a's first i letters to b's first j.
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); i++) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

bool is_flag(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& words) {
  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : words)
    if (const size_t edits = distance(word, candidate); edits < least)
      least = edits, best = candidate;
  return best;
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags, short_flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) short_flags.push_back("-" + name);
  }
  flags.insert(flags.end(), short_flags.begin(), short_flags.end());
  return flags;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::string unknown_arguments(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const CLI::App& level = chosen.empty() ? app : *chosen.front();
  if (level.get_prefix_command()) return "";  // the rest is another program's
  const std::vector<std::string> rest = level.remaining();
  if (rest.empty()) return "";
  if (chosen.empty() && !is_flag(rest.front())) {
    const std::string near = nearest(rest.front(), commands_of(app));
    return "unknown command " + rest.front() +
           (near.empty() ? "; wick --help lists them" : "; the nearest is " + near);
  }
  // The words after an unknown flag may be meant as its value, so flags alone are named.
  const bool flags = std::any_of(rest.begin(), rest.end(), is_flag);
  std::string text = chosen.empty() ? "" : level.get_name() + ": ";
  text += flags ? "unknown flag " : "unexpected argument ";
  bool first = true;
  for (const std::string& argument : rest) {
    if (flags && !is_flag(argument)) continue;
    if (!std::exchange(first, false)) text += ", ";
    text += argument;
    if (!flags) continue;
    const std::string near = nearest(argument.substr(0, argument.find('=')), flags_of(level));
    if (!near.empty()) text += " (the nearest is " + near + ")";
  }
  return text;
}

}  // namespace wick::cli
