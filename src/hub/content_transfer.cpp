#include "hub/content_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <vector>

namespace wick::hub {
namespace {

[[noreturn]] void fail_with_reason(const std::string& path, const char* doing) {
  const int reason = errno;
  fail_file(reason, path, doing, ": ", std::strerror(reason));
}

std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Whether "bytes FIRST-LAST/TOTAL" says that the body continues a file of `total` bytes at `first`.
bool continues(std::string_view range, int64_t first, int64_t total) {
  constexpr std::string_view kUnit = "bytes ";
  const size_t dash = range.find('-'), slash = range.find('/');
  if (!range.starts_with(kUnit) || dash == range.npos || slash == range.npos || slash < dash)
    return false;
  const std::string_view whole = range.substr(slash + 1);
  return number_of(range.substr(kUnit.size(), dash - kUnit.size())) == first &&
         (whole == "*" || number_of(whole) == total);
}

}  // namespace

ContentTransfer::ContentTransfer(const std::string& url, const std::string& name,
                                 const RepositoryCache& cache, RepositoryFile file,
                                 std::function<void(const std::string&)> note)
    : Transfer(url, name + ": " + file.path),
      cache_(cache),
      file_(std::move(file)),
      note_(std::move(note)) {}

ContentTransfer::~ContentTransfer() {
  if (descriptor_ < 0) return;
  if (size_ == 0) unlink(cache_.incomplete(file_).c_str());  // while it is locked
  close(descriptor_);
}

Transfer::Step ContentTransfer::prepare() {
  if (!lock_.try_take(cache_.lock(file_.digest()))) {
    if (note_ && !has_noted_) note_(subject() + ": another program downloads it; waiting");
    has_noted_ = true;
    return Step::kLater;
  }
  if (cache_.has_content(file_)) {
    lock_.release();
    size_ = file_.bytes;
    return Step::kDone;
  }
  if (descriptor_ < 0) open_incomplete();
  if (hashed_ < size_) {
    add_to_digest();
    return Step::kAgain;
  }
  if (size_ < file_.bytes) return Step::kRequest;
  finish();
  return Step::kDone;
}

void ContentTransfer::open_incomplete() {
  const std::string path = cache_.incomplete(file_);
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  struct stat info;
  if (descriptor_ < 0 || fstat(descriptor_, &info) != 0)
    fail_with_reason(path, "cannot be written");
  if (!S_ISREG(info.st_mode)) fail_file(EINVAL, path, "cannot be written: not a regular file");
  size_ = info.st_size;
  start_digest();
  if (size_ > file_.bytes) restart();
}

/// Git's object of a file is its length and its bytes.
void ContentTransfer::start_digest() {
  digest_.emplace(file_.is_large() ? DigestKind::kSha256 : DigestKind::kSha1);
  if (!file_.is_large()) {
    digest_->add("blob " + std::to_string(file_.bytes));
    digest_->add(std::string_view("\0", 1));
  }
  hashed_ = 0;
}

/// Reads a part of an earlier attempt's bytes: not all at once, so that other transfers go on.
void ContentTransfer::add_to_digest() {
  constexpr int64_t kPart = 16 << 20;
  std::vector<char> bytes(size_t(std::min(kPart, size_ - hashed_)));
  const ssize_t count = pread(descriptor_, bytes.data(), bytes.size(), hashed_);
  if (count < 0 && errno == EINTR) return;
  if (count < 0) fail_with_reason(cache_.incomplete(file_), "cannot be read");
  if (count == 0) return restart();  // it was cut short meanwhile
  digest_->add(bytes.data(), size_t(count));
  hashed_ += count;
}

void ContentTransfer::restart() {
  if (ftruncate(descriptor_, 0) != 0)
    fail_with_reason(cache_.incomplete(file_), "cannot be written");
  size_ = 0;
  start_digest();
}

void ContentTransfer::begin(const AnswerHead& head) {
  if (const std::string& encoding = head.header("content-encoding");
      !encoding.empty() && encoding != "identity")
    throw PassingFailure{"the answer is encoded as " + encoding};
  if (head.status == 206) {
    const std::string& range = head.header("content-range");
    if (continues(range, size_, file_.bytes)) return;
    restart();
    throw PassingFailure{"the server sends another range than the one asked for: " + range};
  }
  if (size_ > 0) restart();
  const std::string& length = head.header("content-length");
  if (!length.empty() && number_of(length) != file_.bytes)
    throw PassingFailure{"the server sends " + length + " bytes, the hub lists " +
                         std::to_string(file_.bytes)};
}

void ContentTransfer::take(std::string_view bytes) {
  if (int64_t(bytes.size()) > file_.bytes - size_) {
    restart();
    throw PassingFailure{"the server sends more than the " + std::to_string(file_.bytes) +
                         " bytes that the hub lists"};
  }
  digest_->add(bytes);
  hashed_ += int64_t(bytes.size());
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor_, bytes.data(), bytes.size(), size_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with_reason(cache_.incomplete(file_), "cannot be written");
    bytes.remove_prefix(size_t(count));
    size_ += count;
  }
}

void ContentTransfer::end() {
  if (size_ < file_.bytes)
    throw PassingFailure{"the answer ends after " + std::to_string(size_) + " of " +
                         std::to_string(file_.bytes) + " bytes"};
  finish();
}

void ContentTransfer::finish() {
  const std::string got = digest_->finish();
  if (got != file_.digest()) {
    restart();
    // The bytes of an earlier attempt may have been those of another program.
    const std::string text = std::string("the bytes have another ") +
                             (file_.is_large() ? "SHA-256" : "SHA-1") +
                             " than the hub lists: expected " + file_.digest() + ", got " + got;
    if (++wrong_digests_ < 2) throw PassingFailure{text};
    unlink(cache_.incomplete(file_).c_str());
    fail(ErrorCode::kFormat, subject(), text, "; they are discarded");
  }
  const std::string path = cache_.incomplete(file_);
  if (fdatasync(descriptor_) != 0) fail_with_reason(path, "cannot be synced to disk");
  if (rename(path.c_str(), cache_.content(file_).c_str()) != 0)
    fail_with_reason(path, "cannot be renamed into place");
  close(descriptor_);
  descriptor_ = -1;
  lock_.release();
}

}  // namespace wick::hub
