// Rates of cards that their data sheets state: data_sheets.json.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace wick {

/// data_sheets.json, which the build embeds.
extern const std::string_view kDataSheetsText;

namespace doctor {

struct DataSheet {
  std::string name;  // a part of the name that the runtime has for the card
  double gb_per_s = 0, f16_tflop_per_s = 0;
  std::string source;
};

/// The first entry whose name is a part of the card's; nullopt without one.
std::optional<DataSheet> find_data_sheet(std::string_view card);

}  // namespace doctor
}  // namespace wick
