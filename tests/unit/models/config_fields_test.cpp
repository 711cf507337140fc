// The table of config fields against the rows of families.
#include "models/names/config_fields.h"

#include <set>

#include "../expect.h"
#include "models/names/other_keys.h"

namespace wick {
namespace {

bool is_field(std::string_view key) {
  for (const ConfigField& field : config_fields())
    if (field.key == key) return true;
  return false;
}

TEST(ConfigFields, HaveAllKeysThatFamiliesList) {
  for (const Family* family : families()) {
    for (const std::string_view key : family->keys)
      EXPECT_TRUE(key.empty() || is_field(key)) << family->model_type << ": " << key;
    for (const Rename& rename : family->renamed_keys)
      EXPECT_TRUE(rename.wick.empty() || is_field(rename.wick))
          << family->model_type << ": " << rename.wick;
  }
}

TEST(ConfigFields, HaveAllKeysThatFamiliesFilesList) {
  std::set<std::string_view> known(std::begin(kOtherGgufKeys), std::end(kOtherGgufKeys));
  for (const ConfigField& field : config_fields()) known.insert(field.gguf.key);
  for (const Family* family : families())
    for (const std::string_view key : family->gguf_keys)
      EXPECT_TRUE(known.count(key) > 0) << family->model_type << ": " << key;
}

TEST(ConfigFields, AreReadOnce) {
  std::set<std::string_view> read;
  for (const ConfigField& field : config_fields()) {
    const bool is_new = !field.read || read.insert(field.key).second;
    EXPECT_TRUE(is_new) << field.key;
  }
}

TEST(Families, AreFoundByTheirModelType) {
  std::set<std::string_view> types;
  for (const Family* family : families()) {
    EXPECT_TRUE(types.insert(family->model_type).second) << family->model_type;
    EXPECT_EQ(find_family(family->model_type), family);
  }
  EXPECT_EQ(find_family("unheard"), nullptr);
}

}  // namespace
}  // namespace wick
