#include "pairwise.h"

#include <algorithm>

namespace wick::conformance {
namespace {

/// The pairs of levels that no point holds yet.
class Uncovered {
 public:
  explicit Uncovered(const std::vector<int>& levels) {
    for (const int n : levels) {
      first_.push_back(total_);
      total_ += n;
    }
    left_.assign(std::size_t(total_) * std::size_t(total_), false);
    for (std::size_t f = 0; f < levels.size(); f++) {
      for (std::size_t g = f + 1; g < levels.size(); g++) {
        for (int i = 0; i < levels[f]; i++) {
          for (int j = 0; j < levels[g]; j++) {
            left_[at(f, i, g, j)] = true;
            pairs_.push_back({f, i, g, j});
          }
        }
      }
    }
  }

  struct Pair {
    std::size_t f;
    int i;
    std::size_t g;
    int j;
  };

  bool holds(std::size_t f, int i, std::size_t g, int j) const {
    return f < g ? left_[at(f, i, g, j)] : left_[at(g, j, f, i)];
  }
  /// A pair that is left, nullptr if none is. Pairs are asked for in order, so that the search goes
  /// on where it stopped.
  const Pair* next() {
    while (next_ < pairs_.size() && !left_[at(pairs_[next_])]) next_++;
    return next_ < pairs_.size() ? &pairs_[next_] : nullptr;
  }
  void cover(const std::vector<int>& point) {
    for (std::size_t f = 0; f < point.size(); f++) {
      for (std::size_t g = f + 1; g < point.size(); g++)
        left_[at(f, point[f], g, point[g])] = false;
    }
  }
  void shuffle(Random& random) {
    for (std::size_t i = pairs_.size(); i > 1; i--) {
      std::swap(pairs_[i - 1], pairs_[std::size_t(random.below(int64_t(i)))]);
    }
  }

 private:
  std::size_t at(std::size_t f, int i, std::size_t g, int j) const {
    return std::size_t(first_[f] + i) * std::size_t(total_) + std::size_t(first_[g] + j);
  }
  std::size_t at(const Pair& p) const { return at(p.f, p.i, p.g, p.j); }

  std::vector<int> first_;
  int total_ = 0;
  std::vector<bool> left_;
  std::vector<Pair> pairs_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<std::vector<int>> pairwise(const std::vector<int>& levels, Random& random) {
  if (levels.size() < 2) return product(levels);
  Uncovered uncovered(levels);
  uncovered.shuffle(random);
  std::vector<std::vector<int>> points;
  while (const Uncovered::Pair* pair = uncovered.next()) {
    // From one uncovered pair on, each further factor takes the level that covers the most with
    // those already chosen.
    std::vector<int> point(levels.size(), -1);
    point[pair->f] = pair->i;
    point[pair->g] = pair->j;
    for (std::size_t f = 0; f < levels.size(); f++) {
      if (point[f] >= 0) continue;
      const int first = int(random.below(levels[f]));
      int best = first, most = -1;
      for (int k = 0; k < levels[f]; k++) {
        const int level = (first + k) % levels[f];
        int covers = 0;
        for (std::size_t g = 0; g < levels.size(); g++) {
          if (point[g] >= 0) covers += uncovered.holds(f, level, g, point[g]);
        }
        if (covers > most) best = level, most = covers;
      }
      point[f] = best;
    }
    uncovered.cover(point);
    points.push_back(point);
  }
  return points;
}

std::vector<std::vector<int>> product(const std::vector<int>& levels) {
  std::vector<std::vector<int>> points = {{}};
  for (const int n : levels) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& point : points) {
      for (int i = 0; i < n; i++) {
        longer.push_back(point);
        longer.back().push_back(i);
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace wick::conformance
