// JSON files: config.json and others.
#pragma once
#include <string>
#include <string_view>

#include "wick/base/settings.h"

namespace wick {

/// Reads the values of a JSON object. where: what errors begin with. Errors: kFormat: no JSON, no
/// object, a key that comes twice, an integer that int64_t does not hold.
WICK_API Settings parse_json(std::string_view text, const std::string& where);
/// Reads a JSON value of any kind, a list for instance: std::get<Setting::List>(value.value).
/// Errors: as parse_json's.
WICK_API Setting parse_json_value(std::string_view text, const std::string& where);
/// Reads the values of the object in a file. Errors: kIo, which names the path; kFormat.
WICK_API Settings read_json(const std::string& path);
/// Reads the value of any kind in a file. Errors: kIo, which names the path; kFormat.
WICK_API Setting read_json_value(const std::string& path);

/// The text of values, or of a value of any kind: an entry of an object per line and two spaces per
/// level; indent < 0: all on one line.
WICK_API std::string to_json(const Setting& value, int indent = 0);
/// The file gets its name when it is whole. Errors: kIo.
WICK_API void write_json(const std::string& path, const Setting& value);

}  // namespace wick
