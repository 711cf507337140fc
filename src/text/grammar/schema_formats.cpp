// The formats of strings that JSON Schema names, as regular expressions.
#include <algorithm>
#include <iterator>

#include "text/grammar/schema_values.h"

namespace wick::grammars {
namespace {

// RFC 3339, without leap seconds and the year 0, which many libraries refuse.
#define LEAP_BY_4 "(0[48]|[2468][048]|[13579][26])"
#define DATE                                                  \
  "((000[1-9]|00[1-9]\\d|0[1-9]\\d\\d|[1-9]\\d{3})-"          \
  "((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|"                 \
  "(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))|" \
  "(\\d\\d" LEAP_BY_4 "|" LEAP_BY_4 "00)-02-29)"
#define TIME "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
#define LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define HOST LABEL "(\\." LABEL ")*"
#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}"
#define BYTE "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define HEX "[0-9A-Fa-f]"
#define GROUP HEX "{1,4}"
// RFC 3986.
#define PCHAR "([A-Za-z0-9._~!$&'()*+,;=:@-]|%" HEX HEX ")"
#define NAME_CHAR "([A-Za-z0-9._~!$&'()*+,;=-]|%" HEX HEX ")"

struct Format {
  std::string_view name, regex;
};
constexpr Format kFormats[] = {
    {"date", DATE},
    {"time", TIME},
    {"date-time", DATE "T" TIME},
    {"duration",
     "P(\\d{1,9}W|\\d{1,9}Y(\\d{1,9}M(\\d{1,9}D)?)?|\\d{1,9}M(\\d{1,9}D)?|\\d{1,9}D|"
     "(\\d{1,9}Y(\\d{1,9}M(\\d{1,9}D)?)?|\\d{1,9}M(\\d{1,9}D)?|\\d{1,9}D)?"
     "T(\\d{1,9}H(\\d{1,9}M(\\d{1,9}S)?)?|\\d{1,9}M(\\d{1,9}S)?|\\d{1,9}S))"},
    {"uuid", HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}"},
    {"email", ATOM "(\\." ATOM ")*@" HOST},
    {"hostname", HOST},
    {"ipv4", BYTE "(\\." BYTE "){3}"},
    {"ipv6",
     "(" GROUP ":){7}" GROUP "|(" GROUP ":){1,7}:|(" GROUP ":){1,6}:" GROUP "|(" GROUP
     ":){1,5}(:" GROUP "){1,2}|(" GROUP ":){1,4}(:" GROUP "){1,3}|(" GROUP ":){1,3}(:" GROUP
     "){1,4}|(" GROUP ":){1,2}(:" GROUP "){1,5}|" GROUP ":(:" GROUP "){1,6}|:(:" GROUP "){1,7}|::"},
    {"uri", "[A-Za-z][A-Za-z0-9+.-]*:(//" NAME_CHAR "*(:\\d{1,5})?(/" PCHAR "*)*|/?" PCHAR
            "+(/" PCHAR "*)*)(\\?(" PCHAR "|[/?])*)?(#(" PCHAR "|[/?])*)?"},
    // Sizes and uses of OpenAPI, which no text shows.
    {"int32", ""},
    {"int64", ""},
    {"float", ""},
    {"double", ""},
    {"password", ""},
    {"binary", ""},
};

}  // namespace

std::optional<std::string_view> format_regex(std::string_view name) {
  const auto at = std::find_if(std::begin(kFormats), std::end(kFormats),
                               [&](const Format& format) { return format.name == name; });
  if (at == std::end(kFormats)) return {};
  return at->regex;
}

}  // namespace wick::grammars
