// wick completion: a script by which bash completes commands and flags.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "arguments.h"
#include "commands.h"

namespace wick::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void print_script(const CLI::App& app) {
  std::printf(
      "# Completes the program wick; made by wick completion.\n"
      "_wick() {\n"
      "  local words= word=${COMP_WORDS[COMP_CWORD]}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    words='%s --help --version'\n"
      "  elif [[ $word == -* ]]; then\n"
      "    case ${COMP_WORDS[1]} in\n",
      joined(commands_of(app)).c_str());
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    std::printf("      %s) words='%s' ;;\n", command->get_name().c_str(),
                joined(flags_of(*command)).c_str());
  std::printf(
      "    esac\n"
      "  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --device ]]; then\n"
      "    words='auto cpu rocm cuda'\n"
      "  fi\n"
      "  [[ -z $words ]] || COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _wick wick\n");
}

}  // namespace

void add_completion(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "print a script that completes in bash");
  command->footer(
      "Example:\n"
      "  wick completion > ~/.local/share/bash-completion/completions/wick");
  command->callback([&app] { print_script(app); });
}

}  // namespace wick::cli
