// The fields of a DecoderConfig: one table of their keys in config.json and in GGUF files, and of
// how they are read and written.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "models/decoder/family.h"
#include "models/names/gguf_file.h"

namespace wick {

using OptionalSetting = std::optional<Setting>;

/// How GGUF files have a field.
struct GgufKey {
  std::string_view key = "";  // after "ARCHITECTURE."; "": no key of its own
  bool is_rare = false;       // only families that list the key have it in their files
  bool is_needed = false;     // files of families without it have 0
  bool is_of_layers = false;  // files may have a list of one number for each layer
  /// Whether the value counts in families, too, whose folders lack the field's key.
  bool is_of_all = false;
  /// The value that config.json has; nothing: the default. nullptr: it is the key's.
  OptionalSetting (*read)(const GgufKey&, const GgufFile&) = nullptr;
  /// The key's value; nothing: files lack it. nullptr: as config.json has it, if the family's
  /// has it.
  OptionalSetting (*write)(const DecoderConfig&, const Family&) = nullptr;
};

struct ConfigField {
  std::string_view key;  // in config.json, as Llama's; "": there is no such key
  bool is_common;        // every family reads it; else those that list it
  /// Reads the field from values under these keys; nullptr: a later field reads them. The config
  /// has the family's defaults, and the values of earlier fields.
  void (*read)(const ConfigField&, const Settings& values, const Family&, DecoderConfig&) = nullptr;
  /// The value that config.json has; nothing: it lacks the key. nullptr: it always does.
  OptionalSetting (*write)(const DecoderConfig&, const Family&) = nullptr;
  GgufKey gguf = {};
};

/// In the order in which they are read, and written to config.json.
std::span<const ConfigField> config_fields();

/// Whether the family's files lack the key although it is common.
bool lacks_key(const Family& family, const ConfigField& field);
/// Whether the family's config.json has the key under this name.
bool has_own_name(const Family& family, const ConfigField& field);
/// Whether it has the key, under this name or its own.
bool reads_key(const Family& family, const ConfigField& field);

}  // namespace wick
