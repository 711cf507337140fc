// JSON parsing and writing.
#pragma once
#include <string>
#include <string_view>

#include "wick/base/settings.h"

namespace wick {

/// Parses a JSON object as Python's json module does: NaN, Infinity and -Infinity are numbers, of a
/// repeated key the last value stays, and a byte order mark is skipped. Integers beyond int64_t
/// become reals. where: the prefix of error texts.
/// Errors: kFormat if the text is not JSON, naming line and column, or not an object.
WICK_API Settings parse_json(std::string_view text, const std::string& where);
/// Parses a JSON value of any kind; for a list: std::get<Setting::List>(value.value). Errors: as
/// parse_json.
WICK_API Setting parse_json_value(std::string_view text, const std::string& where);
/// Reads a JSON object from a file. Errors: kIo, naming the path; kFormat, which says so if the
/// file is cut short.
WICK_API Settings read_json(const std::string& path);
/// Reads a JSON value of any kind from a file. Errors: kIo, naming the path; kFormat.
WICK_API Setting read_json_value(const std::string& path);

/// Formats a value as JSON with one object entry per line, indented by two spaces per level
/// starting at level `indent`; indent < 0 puts everything on one line. Reals stay reals: 4 is
/// "4.0".
WICK_API std::string to_json(const Setting& value, int indent = 0);
/// Writes a value to a JSON file; the file appears under its name only when complete. Errors: kIo.
WICK_API void write_json(const std::string& path, const Setting& value);

}  // namespace wick
