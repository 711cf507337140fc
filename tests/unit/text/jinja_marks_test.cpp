// Marks of users' text: through each filter, method and operator of templates that gives strings.
#include "text/jinja/marks.h"

#include <map>
#include <set>

#include "../expect.h"
#include "text/jinja/attributes.h"
#include "text/jinja/filters.h"
#include "wick/io/json.h"
#include "wick/text/chat_template.h"

namespace wick {
namespace {

/// The rendered text, with its users' parts in brackets « ». Variables from users: u and t, strings; d,
/// a dict; l, a list. p has no mark.
std::string shown(const std::string& source) {
  static const Settings variables = parse_json(
      R"({"messages": ["aB <c>", {"k": "v\n", "n": 1}, ["b", "a"], "y\tz"], "p": "aB <c>"})",
      "variables");
  const std::string head =
      "{% set u = messages[0] %}{% set d = messages[1] %}{% set l = messages[2] %}"
      "{% set t = messages[3] %}";
  RenderOptions options;
  options.now = [] { return std::chrono::system_clock::time_point(); };
  const MarkedText marked = ChatTemplate(head + source, "t").render_marked(variables, options);
  EXPECT_EQ(marked.text, ChatTemplate(head + source, "t").render(variables, options)) << source;
  std::string text;
  size_t at = 0;
  for (const ByteRange& range : marked.user) {
    EXPECT_LT(range.begin, range.end);
    EXPECT_TRUE(at == 0 || int64_t(at) < range.begin) << source;
    text += marked.text.substr(at, size_t(range.begin) - at) + "«";
    text += marked.text.substr(size_t(range.begin), size_t(range.end - range.begin)) + "»";
    at = size_t(range.end);
  }
  return text + marked.text.substr(at);
}

struct Row {
  const char* name;        // of the filter or method
  const char* expression;  // "": its result is or has no string that comes from its operands
  const char* expected = "";
};
using Rows = std::vector<Row>;

/// Compares the rows, and requires one for each name.
void check_rows(const Rows& rows, const std::set<std::string_view>& names) {
  std::set<std::string_view> seen;
  for (const Row& row : rows) {
    seen.insert(row.name);
    EXPECT_TRUE(names.count(row.name)) << row.name;
    if (*row.expression == 0) continue;
    EXPECT_NE(std::string_view(row.expression).find(row.name), std::string_view::npos);
    EXPECT_EQ(shown("{{ " + std::string(row.expression) + " }}"), row.expected) << row.expression;
  }
  for (const std::string_view name : names)
    EXPECT_TRUE(seen.count(name)) << name << " has no row, which says whether it keeps marks";
}

const Rows kFilters = {
    {"abs", ""},
    {"attr", ""},
    {"batch", "l|batch(1)|list", "[['«b»'], ['«a»']]"},
    {"capitalize", "u|capitalize", "«Ab <c>»"},
    {"capitalize", "('x' ~ u ~ 'Y')|capitalize", "X«ab <c>»y"},
    {"center", "u|center(9)", "  «aB <c>» "},
    {"count", ""},
    {"d", "d.none|d(u)", "«aB <c>»"},
    {"d", "u|d('x')", "«aB <c>»"},
    {"default", "d.none|default(u)", "«aB <c>»"},
    {"dictsort", "d|dictsort", "[('«k»', '«v\\n»'), ('«n»', 1)]"},
    {"e", "('<' ~ u)|e", "&lt;«aB &lt;c&gt;»"},
    {"escape", "('<' ~ u)|escape", "&lt;«aB &lt;c&gt;»"},
    {"first", "l|first", "«b»"},
    {"first", "u|first", "«a»"},
    {"float", "'x'|float(u)", "«aB <c>»"},
    {"forceescape", "('<' ~ u)|forceescape", "&lt;«aB &lt;c&gt;»"},
    {"format", "'<%s>%%%s'|format(u, 'x')", "<«aB <c>»>%x"},
    {"format", "('%(k)s' ~ u ~ '%%')|format(**{'k': 'x'})", "x«aB <c>»%"},
    {"groupby", "[{'a': u}, {'a': 'x'}]|groupby('a')",
     "[('«aB <c>»', [{'a': '«aB <c>»'}]), ('x', [{'a': 'x'}])]"},
    {"indent", "d.k|indent(2, true, true)", "  «v\n»  "},
    {"indent", "'a\\nb'|indent(l[0])", "a\n«b»b"},
    {"int", "'x'|int(u)", "«aB <c>»"},
    {"items", "d|items|list", "[('«k»', '«v\\n»'), ('«n»', 1)]"},
    {"join", "l|join('-')", "«b»-«a»"},
    {"join", "['x', 'y']|join(u)", "x«aB <c>»y"},
    {"last", "l|last", "«a»"},
    {"last", "u|last", "«>»"},
    {"length", ""},
    {"list", "l|list", "['«b»', '«a»']"},
    {"list", "l[0]|list", "['«b»']"},
    {"lower", "u|lower", "«ab <c>»"},
    {"lower", "('XΣ' ~ u ~ 'ẞİY')|lower", "xσ«ab <c>»ßi̇y"},
    {"map", "['B', l[0]]|map('upper')|list", "['B', '«B»']"},
    {"map", "[d]|map(attribute='k')|list", "['«v\\n»']"},
    {"max", "l|max", "«b»"},
    {"min", "l|min", "«a»"},
    {"reject", "l|reject('equalto', 'a')|list", "['«b»']"},
    {"rejectattr", "[d]|rejectattr('k', 'equalto', 'a')|list", "[{'«k»': '«v\\n»', '«n»': 1}]"},
    {"replace", "u|replace('B', '-')", "«a»-« <c>»"},
    {"replace", "'aBc'|replace('B', u)", "a«aB <c>»c"},
    {"replace", "'aBc'|replace(l[1], '-')", "-Bc"},
    {"replace", "u|replace('', '-', 2)", "-«a»-«B <c>»"},
    {"reverse", "u|reverse", "«>c< Ba»"},
    {"reverse", "l|reverse|list", "['«a»', '«b»']"},
    {"round", ""},
    {"safe", "(u ~ 'x')|safe", "«aB <c>»x"},
    {"select", "l|select('equalto', 'a')|list", "['«a»']"},
    {"selectattr", "[d]|selectattr('k')|list", "[{'«k»': '«v\\n»', '«n»': 1}]"},
    {"slice", "l|slice(2)|list", "[['«b»'], ['«a»']]"},
    {"sort", "(l + ['0'])|sort", "['0', '«a»', '«b»']"},
    {"string", "u|string", "«aB <c>»"},
    {"string", "[u, 'x']|string", "['«aB <c>»', 'x']"},
    {"sum", "[l, ['x']]|sum(start=[])", "['«b»', '«a»', 'x']"},
    {"title", "('x' ~ u ~ 'Y z')|title", "X«ab <C>»y Z"},
    {"tojson", "d|tojson", "{\"«k»\": \"«v\\n»\", \"«n»\": 1}"},
    {"tojson", "('\"' ~ d.k ~ 'é')|tojson(ensure_ascii=true)", "\"\\\"«v\\n»\\u00e9\""},
    {"tojson", "{'x': [u, 'y'], u: 1}|tojson(indent=1)",
     "{\n \"x\": [\n  \"«aB <c>»\",\n  \"y\"\n ],\n \"«aB <c>»\": 1\n}"},
    {"tojson", "['x', 'y']|tojson(separators=[l[0], ':'])", "«[\"x\"b\"y\"]»"},
    {"trim", "(' ' ~ u ~ ' ')|trim", "«aB <c>»"},
    {"trim", "u|trim('a>')", "«B <c»"},
    {"truncate", "('xyz' ~ u)|truncate(6, true, '..', 0)", "xyz«a».."},
    {"truncate", "'xyz xyz'|truncate(5, false, l[0], 0)", "xyz«b»"},
    {"unique", "(l + l)|unique|list", "['«b»', '«a»']"},
    {"upper", "('x' ~ u ~ 'ßy')|upper", "X«AB <C>»SSY"},
    {"urlencode", "('&' ~ u)|urlencode", "%26«aB%20%3Cc%3E»"},
    {"urlencode", "d|urlencode", "«k»=«v%0A»&«n»=1"},
    {"wordcount", ""},
};

TEST(JinjaMarks, EachFilterKeepsThem) {
  std::set<std::string_view> names;
  for (const auto& table : {jinja::text_filters(), jinja::number_filters(), jinja::list_filters(),
                            jinja::selection_filters()})
    for (const jinja::Filter& filter : table) names.insert(filter.signature.name);
  check_rows(kFilters, names);
}

const Rows kMethods = {
    {"capitalize", "('ß' ~ u ~ 'Y').capitalize()", "Ss«ab <c>»y"},
    {"casefold", "('ß' ~ u ~ 'Y').casefold()", "ss«ab <c>»y"},
    {"center", "u.center(9, '-')", "--«aB <c>»-"},
    {"center", "'u'.center(3, l[0])", "«b»u«b»"},
    {"copy", "d.copy()", "{'«k»': '«v\\n»', '«n»': 1}"},
    {"copy", "l.copy()", "['«b»', '«a»']"},
    {"count", ""},
    {"endswith", ""},
    {"expandtabs", "('x\\t' ~ t ~ '\\tx').expandtabs(4)", "x   «y   z»   x"},
    {"find", ""},
    {"format", "'{}<{x[k]}>{{'.format(u, x=d)", "«aB <c>»<«v\n»>{"},
    {"format", "(u ~ '{}{{').format('x')", "«aB <c>»x{"},
    {"format", "('{:' ~ l[0] ~ '>3}').format('x')", "«bbx»"},
    {"format", "'{!r:.3}'.format(u)", "'«aB»"},
    {"format_map", "'{k}-'.format_map(d)", "«v\n»-"},
    {"get", "d.get('k')", "«v\n»"},
    {"get", "d.get('x', u)", "«aB <c>»"},
    {"index", ""},
    {"isalnum", ""},
    {"isalpha", ""},
    {"isascii", ""},
    {"isdecimal", ""},
    {"isdigit", ""},
    {"isidentifier", ""},
    {"islower", ""},
    {"isnumeric", ""},
    {"isprintable", ""},
    {"isspace", ""},
    {"istitle", ""},
    {"isupper", ""},
    {"items", "d.items()|list", "[('«k»', '«v\\n»'), ('«n»', 1)]"},
    {"join", "'-'.join(l)", "«b»-«a»"},
    {"join", "u.join(['x', 'y'])", "x«aB <c>»y"},
    {"keys", "d.keys()|list", "['«k»', '«n»']"},
    {"ljust", "u.ljust(8, '-')", "«aB <c>»--"},
    {"lower", "('X' ~ u ~ 'Y').lower()", "x«ab <c>»y"},
    {"lstrip", "(' ' ~ u ~ ' ').lstrip()", "«aB <c>» "},
    {"partition", "('x' ~ u).partition('B')", "('x«a»', '«B»', '« <c>»')"},
    {"partition", "u.partition('-')", "('«aB <c>»', '', '')"},
    {"removeprefix", "('x' ~ u).removeprefix('xa')", "«B <c>»"},
    {"removesuffix", "(u ~ 'x').removesuffix('>x')", "«aB <c»"},
    {"replace", "('x' ~ u).replace('B', '-')", "x«a»-« <c>»"},
    {"rfind", ""},
    {"rindex", ""},
    {"rjust", "u.rjust(8, '-')", "--«aB <c>»"},
    {"rpartition", "u.rpartition('<')", "('«aB »', '«<»', '«c>»')"},
    {"rsplit", "(u ~ ' x').rsplit(' ', 1)", "['«aB <c>»', 'x']"},
    {"rsplit", "(u ~ ' x').rsplit()", "['«aB»', '«<c>»', 'x']"},
    {"rstrip", "(' ' ~ u ~ ' ').rstrip()", " «aB <c>»"},
    {"split", "('x ' ~ u).split(' ')", "['x', '«aB»', '«<c>»']"},
    {"split", "('x ' ~ u).split()", "['x', '«aB»', '«<c>»']"},
    {"splitlines", "('x\\n' ~ d.k).splitlines(true)", "['x\\n', '«v\\n»']"},
    {"startswith", ""},
    {"strip", "('xa' ~ u).strip('xa')", "«B <c>»"},
    {"swapcase", "('X' ~ u ~ 'Y').swapcase()", "x«Ab <C>»y"},
    {"title", "('x' ~ u ~ 'y').title()", "X«ab <C>»Y"},
    {"upper", "('x' ~ u ~ 'ß').upper()", "X«AB <C>»SS"},
    {"values", "d.values()|list", "['«v\\n»', 1]"},
    {"zfill", "('-' ~ l[0]).zfill(4)", "-00«b»"},
};

TEST(JinjaMarks, EachMethodKeepsThem) {
  const std::string where = "t";
  jinja::Meter meter(where, 1000, 1 << 20);
  std::set<std::string_view> names;
  for (const auto& table : {jinja::text_methods(), jinja::split_methods(),
                            jinja::container_methods(make_list(meter, {})),
                            jinja::container_methods(make_dict(meter, {}))})
    for (const jinja::MethodRow& row : table) names.insert(row.signature.name);
  check_rows(kMethods, names);
}

struct Case {
  const char* source;
  const char* expected;
};

const Case kOperators[] = {
    {"<{{ u }}>{{ p }}", "<«aB <c>»>aB <c>"},
    {"{{ u ~ 1 ~ u }}{{ u + 'x' }}", "«aB <c>»1«aB <c>aB <c>»x"},
    {"{{ l[0] * 3 }}{{ (l[0] ~ '-') * 2 }}{{ 0 * u }}", "«bbbb»-«b»-"},
    {"{{ u[0] }}{{ u[-2:] }}{{ ('x' ~ u)[:3] }}{{ ('x' ~ u)[::-2] }}{{ u[9:] }}", "«ac>»x«aB><B»x"},
    {"{% for c in 'x' ~ l[0] ~ 'ö' %}({{ c }}){% endfor %}", "(x)(«b»)(ö)"},
    {"{{ '%s|%r|%5.1s|%-3s|%c|%c' % (u, u, u, l[0], l[1], 60) }}",
     "«aB <c>»|'«aB <c>»'|    «a»|«b»  |«a»|«<»"},
    {"{{ (u ~ '%s') % 'x' }}{{ '%(k)s' % d }}", "«aB <c>»x«v\n»"},
    {"{{ [u, {'x': u, u: 1}, ('x', u)] }}",
     "['«aB <c>»', {'x': '«aB <c>»', '«aB <c>»': 1}, ('x', '«aB <c>»')]"},
    {"{{ d }}{{ d.k }}{{ d['k'] }}{{ d.n }}{% for k in d %}{{ k }}{% endfor %}",
     "{'«k»': '«v\\n»', '«n»': 1}«v\nv\n»1«kn»"},
    {"{% macro f(a, b='y') %}<{{ a }}{{ b }}{{ kwargs }}{% endmacro %}{{ f(u) }}{{ f('x', **d) }}",
     "<«aB <c>»y{}<xy{'«k»': '«v\\n»', '«n»': 1}"},
    {"{% macro f() %}[{{ caller(u) }}]{% endmacro %}{% call(x) f() %}{{ x }}!{% endcall %}",
     "[«aB <c>»!]"},
    {"{% set x %}<{{ u }}>{% endset %}{{ x }}", "<«aB <c>»>"},
    {"{% filter upper %}x{{ u }}{% endfilter %}", "X«AB <C>»"},
    {"{% for x in [[u], 'y'] recursive %}{{ loop(x) if x is not string else x }}{% endfor %}",
     "«aB <c>»y"},
    {"{% set n = namespace(**d) %}{% set n.x = u %}{{ n.x }}{{ n }}",
     "«aB <c>»<Namespace {'«k»': '«v\\n»', '«n»': 1, 'x': '«aB <c>»'}>"},
    {"{{ dict(**d) }}{{ dict([[u, 1]]) }}{{ dict.fromkeys(l) }}",
     "{'«k»': '«v\\n»', '«n»': 1}{'«aB <c>»': 1}{'«b»': None, '«a»': None}"},
    {"{% set c = cycler(u, 'x') %}{{ c.next() }}{{ c.next() }}", "«aB <c>»x"},
    {"{% set j = joiner(u) %}{{ j() }}{{ j() }}", "«aB <c>»"},
    {"{% for x in l %}{{ loop.nextitem }}{{ loop.cycle(u, 'y') }}{% endfor %}", "«aaB <c>»y"},
    {"{{ u or 'x' }}{{ '' or u }}{{ u if u == p else 'x' }}{{ u|length }}{{ p in u }}",
     "«aB <c>aB <c>aB <c>»6True"},
    {"{{ strftime_now('%Y') }}{{ strftime_now(l[0]) }}", "1970«b»"},
    {"{% generation %}{{ u }}{% endgeneration %}{% print u %}{% with x = u %}{{ x }}{% endwith %}",
     "«aB <c>aB <c>aB <c>»"},
    {"{{ u|safe + '<' }}{{ ('<i>%s</i>'|safe) % u }}{{ ('<i>{}</i>'|safe).format(u) }}",
     "«aB <c>»&lt;<i>«aB &lt;c&gt;»</i><i>«aB &lt;c&gt;»</i>"},
};

TEST(JinjaMarks, OperatorsStatementsAndFunctionsKeepThem) {
  for (const Case& row : kOperators) EXPECT_EQ(shown(row.source), row.expected) << row.source;
}

}  // namespace
}  // namespace wick
