// --tp: the processes that share a model.
#pragma once
#include <string>
#include <vector>

#include "wick/dist/process_group.h"

namespace wick::cli {

/// Keeps the command line, which the other ranks repeat.
void keep_arguments(int argc, char** argv);

/// The group of so many ranks: the one that a launcher has started, else with processes that this
/// one starts by its own command line. Lines of those go to stderr.
/// Errors: as join_or_start.
ProcessGroup rank_group(int ranks);
/// Prints the lines of the other ranks, which rank_group has held back, and later ones at once. If
/// this process has failed with an error, it leaves out those that repeat it.
void show_rank_lines(const std::string& error = "");
/// Whether a launcher has started this process as a rank other than 0.
bool is_later_rank();
/// Errors: the failure of a rank that this process has started, if there was one.
void require_ranks_alive();

}  // namespace wick::cli
