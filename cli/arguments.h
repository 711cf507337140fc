// Arguments that no command takes, and the nearest that one does.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace wick::cli {

/// The word with the fewest edits (insertions, deletions, substitutions, swaps of neighbours), at
/// most a third of the letters; "" if no word is so near.
std::string nearest(std::string_view word, const std::vector<std::string>& words);

/// The names of the flags of a command, names with two dashes first.
std::vector<std::string> flags_of(const CLI::App& command);
/// The names of the commands.
std::vector<std::string> commands_of(const CLI::App& app);

/// Describes the unknown commands, flags and arguments of a parsed command line in the order typed,
/// with the nearest right ones; "" if all are known.
std::string unknown_arguments(const CLI::App& app);

}  // namespace wick::cli
