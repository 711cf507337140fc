// JSON files: config.json and what else is written as one object.
#pragma once
#include <string>
#include <string_view>

#include "wick/base/settings.h"

namespace wick {

/// Reads the values of a JSON object. where: what errors begin with. Errors: kFormat: no JSON, no
/// object, a key that comes twice, an integer that int64_t does not hold.
WICK_API Settings parse_json(std::string_view text, const std::string& where);
/// Errors: kIo, which names the path; kFormat.
WICK_API Settings read_json(const std::string& path);

/// The text of it: an entry per line and two spaces per level; indent < 0: all on one line.
WICK_API std::string to_json(const Settings& settings, int indent = 0);
/// The file gets its name when it is whole. Errors: kIo.
WICK_API void write_json(const std::string& path, const Settings& settings);

}  // namespace wick
