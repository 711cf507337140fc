#include "wick/train/corpus.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "train/checksum.h"
#include "train/paths.h"
#include "wick/base/error.h"
#include "wick/io/file.h"

namespace wick {
namespace {

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    check(is_there(path), ErrorCode::kInvalidArgument, path, "no such file or folder");
    const bool folder = is_folder(path);
    const std::vector<std::string> inside = folder ? files_in(path) : std::vector{path};
    check(!inside.empty(), ErrorCode::kInvalidArgument, path, "the folder holds no files");
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

int64_t total_size(const std::vector<std::string>& texts) {
  return std::accumulate(texts.begin(), texts.end(), int64_t{0},
                         [](int64_t sum, const std::string& t) { return sum + int64_t(t.size()); });
}

}  // namespace

int64_t Corpus::train_bytes() const { return total_size(train); }
int64_t Corpus::held_out_bytes() const { return total_size(held_out); }

Corpus read_corpus(const std::vector<std::string>& paths, double valid_fraction) {
  check(valid_fraction >= 0 && valid_fraction < 1, ErrorCode::kInvalidArgument, "read_corpus",
        "valid_fraction: expected a number in [0, 1), got ", valid_fraction);
  Corpus corpus;
  Checksum checksum;
  for (const std::string& file : files_of(paths)) {
    const std::string text = read_file(file);
    check(!text.empty(), ErrorCode::kInvalidArgument, file, "the text is empty");
    const size_t cut = size_t(double(text.size()) * (1 - valid_fraction));
    corpus.train.push_back(text.substr(0, cut));
    corpus.held_out.push_back(text.substr(cut));
    checksum.add(corpus.train.back());
    checksum.add(corpus.held_out.back());
  }
  corpus.checksum = checksum.value();
  return corpus;
}

ByteBatches::ByteBatches(const Corpus& corpus, int64_t batch, int64_t context, uint64_t seed)
    : batch_(batch), context_(context), seed_(seed) {
  check(batch >= 1 && context >= 1, ErrorCode::kInvalidArgument, "train",
        "expected batch and context of at least 1, got ", batch, " and ", context);
  for (const std::string& text : corpus.train) stream_ += "\n" + text;
  const int64_t size = int64_t(stream_.size());
  check(size >= context + 1, ErrorCode::kInvalidArgument, "train", "the texts hold ", size - 1,
        " bytes to train on, less than the context ", context);
  // One window less than fits, to leave room for a varying first offset.
  windows_ = std::max<int64_t>(1, (size - 1) / context - 1);
}

void ByteBatches::arrange(int64_t epoch) const {
  if (epoch == epoch_) return;
  std::seed_seq seeds{uint32_t(seed_), uint32_t(seed_ >> 32), uint32_t(epoch)};
  std::mt19937_64 random(seeds);
  // Uses remainders instead of std::uniform_int_distribution, which differs between libraries.
  const int64_t room = int64_t(stream_.size()) - windows_ * context_;
  const int64_t first = int64_t(random() % uint64_t(std::min(context_, room)));
  starts_.resize(size_t(windows_));
  for (int64_t i = 0; i < windows_; i++) starts_[size_t(i)] = first + i * context_;
  for (size_t i = starts_.size(); i > 1; i--) std::swap(starts_[i - 1], starts_[random() % i]);
  epoch_ = epoch;
}

ByteBatch ByteBatches::at(int64_t step, const Device& device) const {
  std::vector<int64_t> ids, targets;
  for (int64_t i = step * batch_; i < (step + 1) * batch_; i++) {
    arrange(i / windows_);
    const int64_t start = starts_[size_t(i % windows_)];
    for (int64_t t = start; t < start + context_; t++) {
      ids.push_back(uint8_t(stream_[size_t(t)]));
      targets.push_back(uint8_t(stream_[size_t(t) + 1]));
    }
  }
  return {Tensor::from(ids, {batch_, context_}, device),
          Tensor::from(targets, {batch_ * context_}, device)};
}

}  // namespace wick
