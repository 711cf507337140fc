#include "../../../cli/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>

#include "run.h"

namespace wick::test {
namespace {

using namespace cli;

using Points = std::vector<std::pair<double, double>>;

const std::string kBlue = "#0072b2", kOrange = "#d55e00", kGreen = "#009e73";  // the first curves
const std::string kEdge = "#888888", kGrid = "#e4e4e4";
constexpr double kWidth = 1200, kHeight = 800;

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes = {};
  std::string text = {};  // before the first child
  bool in_frame = false;  // inside the clipped group

  double real(const std::string& key) const { return std::stod(attributes.at(key)); }
  std::string get(const std::string& key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? "" : found->second;
  }
  Points points() const {
    Points result;
    std::istringstream in(get("points"));
    double x, y;
    for (char comma; in >> x >> comma >> y;) result.push_back({x, y});
    return result;
  }
};

std::string unescaped(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t taken = 1;
    char c = text[at];
    for (const auto& [entity, meaning] : {std::pair{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}})
      if (text.compare(at, std::string(entity).size(), entity) == 0)
        taken = std::string(entity).size(), c = meaning;
    if (c == '&' && taken == 1) throw std::runtime_error("a bare & in " + text);
    result += c, at += taken;
  }
  return result;
}

/// The elements of a picture's text, which must be well-formed XML of elements, attributes in
/// double quotes and text.
class Svg {
 public:
  explicit Svg(const Picture& picture) : text_(svg_of(picture)) {
    std::vector<std::string> open;
    size_t frame = 0;  // the depth of the clipped group
    while (at_ < text_.size()) {
      if (text_[at_] != '<') {
        const std::string between = until('<');
        if (open.empty() && between != "\n") throw std::runtime_error("text outside of the root");
        if (!open.empty() && elements.back().name == open.back()) elements.back().text += between;
        continue;
      }
      std::string tag = (at_++, until('>'));
      at_++;
      if (tag[0] == '/') {
        if (open.empty() || open.back() != tag.substr(1))
          throw std::runtime_error("closes what is not open: " + tag);
        if (open.size() == frame) frame = 0;
        open.pop_back();
        continue;
      }
      const bool empty = tag.back() == '/';
      if (empty) tag.pop_back();
      elements.push_back(element_of(tag));
      elements.back().in_frame = frame > 0;
      if (!empty) {
        open.push_back(elements.back().name);
        if (!elements.back().get("clip-path").empty()) frame = open.size();
      }
    }
    if (!open.empty()) throw std::runtime_error("not closed: " + open.back());
    for (Element& element : elements) element.text = unescaped(element.text);
    const Points edges = lines(kEdge).at(0).points();
    left = edges.at(0).first, top = edges[0].second;
    right = edges.at(2).first, bottom = edges[2].second;
  }

  std::vector<Element> elements;
  double left, top, right, bottom;  // of the axes

  std::vector<Element> lines(const std::string& colour, bool in_frame = false) const {
    std::vector<Element> result;
    for (const Element& e : elements)
      if (e.name == "polyline" && e.get("stroke") == colour && e.in_frame == in_frame)
        result.push_back(e);
    return result;
  }
  Points curve(const std::string& colour) const { return lines(colour, true).at(0).points(); }
  std::vector<Element> texts() const {
    std::vector<Element> result;
    for (const Element& e : elements)
      if (e.name == "text") result.push_back(e);
    return result;
  }
  Element labelled(const std::string& label) const {
    for (const Element& e : texts())
      if (e.text == label) return e;
    throw std::runtime_error("no text " + label);
  }

 private:
  std::string until(char end) {
    const size_t from = at_;
    at_ = text_.find(end, at_);
    if (at_ == text_.npos) {
      if (end == '>') throw std::runtime_error("a tag without an end");
      at_ = text_.size();
    }
    return text_.substr(from, at_ - from);
  }
  static Element element_of(const std::string& tag) {
    Element element{.name = tag.substr(0, tag.find(' '))};
    for (size_t at = element.name.size(); at < tag.size();) {
      const size_t equals = tag.find("=\"", at);
      const size_t end = equals == tag.npos ? tag.npos : tag.find('"', equals + 2);
      if (tag[at] != ' ' || end == tag.npos || tag.find('<') != tag.npos)
        throw std::runtime_error("not a tag: " + tag);
      element.attributes[tag.substr(at + 1, equals - at - 1)] =
          tag.substr(equals + 2, end - equals - 2);
      at = end + 1;
    }
    return element;
  }

  std::string text_;
  size_t at_ = 0;
};

/// The height of a curve at x.
double height_at(const Points& points, double x) {
  for (size_t i = 1; i < points.size(); i++)
    if (points[i].first >= x) {
      const auto [x0, y0] = points[i - 1];
      const auto [x1, y1] = points[i];
      return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
    }
  throw std::runtime_error("no curve there");
}

TEST(Ticks, AreRoundNumbersWithTheDigitsThatTellThemApart) {
  const auto labels = [](double low, double high) {
    std::string all;
    for (const Tick& tick : ticks(low, high, 9)) all += tick.label + " ";
    return all;
  };
  EXPECT_EQ(labels(0, 2400), "0 500 1,000 1,500 2,000 ");
  EXPECT_EQ(labels(-0.35, 0.31), "-0.3 -0.2 -0.1 0.0 0.1 0.2 0.3 ");
  EXPECT_EQ(labels(2.31, 2.33), "2.310 2.315 2.320 2.325 2.330 ");
  EXPECT_EQ(labels(1e37, 3e38), "5e+37 1e+38 1.5e+38 2e+38 2.5e+38 3e+38 ");
  for (double span = 1e-5; span < 1e7; span *= 1.07)
    for (const double low : {0.0, span / 3, span * 40}) {
      const std::vector<Tick> all = ticks(low, low + span, 9);
      ASSERT_TRUE(all.size() >= 3 && all.size() <= 10) << low << " + " << span;
      ASSERT_GE(all.front().value, low - span * 1e-6);
      ASSERT_LE(all.back().value, low + span * (1 + 1e-6));
    }
}

TEST(Picture, CurvesGridAndLegendLieWhereTheirValuesAre) {
  const Svg p({"T",
               "x",
               "y",
               {{"above", {{0, 8}, {10, 8}}},
                {"falls", {{0, 7}, {10, 1}}, Stroke::kLineWithDots},
                {"level", {{0, 5}, {10, 5}}}}});
  const double eight = p.curve(kBlue)[0].second, five = p.curve(kGreen)[0].second;
  const auto value_at = [&](double y) { return 8 - 3 * (y - eight) / (five - eight); };
  for (const double part : {0.13, 0.47, 0.87})
    EXPECT_NEAR(value_at(height_at(p.curve(kOrange), p.left + part * (p.right - p.left))),
                7 - 6 * part, 0.01);
  size_t levels = 0;
  for (const Element& line : p.lines(kGrid)) {
    const auto [x, y] = line.points().at(0);
    if (line.points().at(1).second != y) continue;
    levels++;
    EXPECT_NEAR(value_at(y), std::round(value_at(y)), 0.01);
    const std::string name = std::to_string(std::lround(value_at(y)));
    const std::vector<Element> texts = p.texts();
    EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [&](const Element& e) {
      return e.text == name && e.get("text-anchor") == "end" && e.real("y") == y;
    })) << name;
  }
  EXPECT_GE(levels, 5u);

  std::vector<double> samples;
  for (const auto& [colour, name] :
       {std::pair{kBlue, "above"}, {kOrange, "falls"}, {kGreen, "level"}}) {
    const Points sample = p.lines(colour).at(0).points();
    EXPECT_GT(sample[0].first, p.right);
    EXPECT_EQ(sample[0].second, p.labelled(name).real("y"));
    samples.push_back(sample[0].second);
  }
  EXPECT_TRUE(std::is_sorted(samples.begin(), samples.end()));
}

TEST(Picture, DotsMarkThePointsOfTheirCurveAlone) {
  const Svg p(
      {"",
       "",
       "",
       {{"dots", {{0, 1}, {4, 3}, {9, 2}}, Stroke::kLineWithDots}, {"line", {{0, 1}, {9, 1}}}}});
  Points dots;
  for (const Element& e : p.elements)
    if (e.name == "circle" && e.in_frame) {
      EXPECT_EQ(e.get("fill"), kBlue);
      dots.push_back({e.real("cx"), e.real("cy")});
    }
  EXPECT_EQ(dots, p.curve(kBlue));
  EXPECT_EQ(dots.size(), 3u);
}

TEST(Picture, LabelsStandApartAndWithinThePicture) {
  const Svg p({"Loss of 123,456,789 weights in 6,000,000 steps",
               "step",
               "loss, nats a byte",
               {{"held out", {{0, 8.5}, {6e6, 0}}}}});
  double last = -INFINITY;
  for (const Tick& tick : ticks(0, 6e6, 6)) {
    const Element label = p.labelled(tick.label);
    // 0.7 em a letter is more than any common font takes.
    EXPECT_GT(label.real("x") - last, 0.7 * label.real("font-size") * double(tick.label.size()));
    last = label.real("x");
  }
  size_t levels = 0;
  last = INFINITY;
  for (const Element& label : p.texts()) {
    if (label.get("text-anchor") != "end") continue;
    EXPECT_GT(last - label.real("y"), label.real("font-size"));
    last = label.real("y"), levels++;
  }
  EXPECT_EQ(levels, ticks(0, 8.925, 9).size());
  EXPECT_LT(p.labelled("Loss of 123,456,789 weights in 6,000,000 steps").real("y"), p.top);
  EXPECT_GT(p.labelled("step").real("y"), p.bottom + 40);
  const Element upwards = p.labelled("loss, nats a byte");
  EXPECT_TRUE(begins(upwards.get("transform"), "rotate(-90 "));
  EXPECT_LT(upwards.real("x"), p.left - 80);
  const Element legend = p.labelled("held out");
  EXPECT_LE(legend.real("x") + 0.6 * legend.real("font-size") * double(legend.text.size()), kWidth);
  for (const Element& label : p.texts()) {
    EXPECT_TRUE(label.real("x") > 0 && label.real("x") < kWidth) << label.text;
    EXPECT_TRUE(label.real("y") > 0 && label.real("y") < kHeight) << label.text;
  }
}

TEST(Picture, AFewPointsFarOffLeaveAQuarterToTheRest) {
  Curve curve{"", {{0, 1000}, {1, 50}}};
  for (int i = 2; i < 200; i++) curve.points.push_back({i, i % 2 ? 1.0 : 3.0});
  const Svg p({"", "", "", {curve}});
  const Points places = p.curve(kBlue);
  EXPECT_NEAR(places[2].second < places[3].second ? places[3].second - places[2].second : 0,
              (p.bottom - p.top) / 4, (p.bottom - p.top) / 20);
  EXPECT_LT(places[0].second, p.top);  // the frame cuts it
  const auto frame = std::find_if(p.elements.begin(), p.elements.end(), [](const Element& e) {
    return e.name == "rect" && !e.get("x").empty();
  });
  ASSERT_NE(frame, p.elements.end());
  EXPECT_EQ(frame->real("y"), p.top);
}

TEST(Picture, OfNothingOnePointAndAnyValuesIsAPicture) {
  for (const Points& points : {Points{},
                               {{5, 2.5}},
                               {{0, 3}, {1, 3}},
                               {{0, 0}},
                               {{0, NAN}, {NAN, 0}, {1, INFINITY}},
                               {{0, 1e300}, {1, -1e300}, {3, 0}},
                               {{3, 1}, {2, 5}, {1, 2}}}) {
    const Svg p({"any", "x", "y", {{"name", points}}});
    const bool drawn = !points.empty() && std::isfinite(points[0].second);
    ASSERT_EQ(p.lines(kBlue, true).size(), size_t(drawn));
    if (!drawn) continue;
    EXPECT_EQ(p.curve(kBlue).size(), points.size());
    for (const auto& [x, y] : p.curve(kBlue)) EXPECT_TRUE(std::isfinite(x) && std::isfinite(y));
  }
}

TEST(Picture, TextsKeepTheCharactersOfXml) {
  const Svg p({"a < b & c > d", "\"x\"", "µ", {{"&amp;", {{0, 1}, {1, 2}}}}});
  for (const char* text : {"a < b & c > d", "\"x\"", "µ", "&amp;"})
    EXPECT_EQ(p.labelled(text).text, text);
}

}  // namespace
}  // namespace wick::test
