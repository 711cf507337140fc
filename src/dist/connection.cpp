#include "dist/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "wick/base/error.h"

namespace wick::dist {
namespace {

using std::chrono::milliseconds;
using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

std::string reason_of(int error) { return std::generic_category().message(error); }

/// The addresses of a name; empty, with the reason, if there is no such name.
Addresses addresses_of(const std::string& name, int port, int flags, std::string* reason) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.empty() ? nullptr : name.c_str(), std::to_string(port).c_str(),
                                &hints, &found);
  if (error != 0) *reason = gai_strerror(error);
  return Addresses(error == 0 ? found : nullptr, &freeaddrinfo);
}

void set_option(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof value);
}

/// A socket bound to the address; an empty one, with errno, if that fails.
Descriptor bound(const addrinfo& address) {
  Descriptor socket(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (!socket) return socket;
  set_option(socket.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  constexpr int kBacklog = 512;
  if (bind(socket.number(), address.ai_addr, address.ai_addrlen) == 0 &&
      listen(socket.number(), kBacklog) == 0)
    return socket;
  const int error = errno;
  socket = Descriptor();
  errno = error;
  return socket;
}

/// A socket connected to the address by then; an empty one, with errno, if that fails.
Descriptor connected(const addrinfo& address, Clock::time_point until) {
  Descriptor socket(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (!socket) return socket;
  int error = 0;
  if (connect(socket.number(), address.ai_addr, address.ai_addrlen) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      if (wait_for(socket.number(), POLLOUT, until) == 0)
        error = ETIMEDOUT;
      else
        getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  // A free port of this machine may be the one that the system gives to the socket itself.
  sockaddr_storage own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  if (error == 0 &&
      getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
      getpeername(socket.number(), reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
      own_size == peer_size &&
      std::equal(reinterpret_cast<char*>(&own), reinterpret_cast<char*>(&own) + own_size,
                 reinterpret_cast<char*>(&peer)))
    error = ECONNREFUSED;
  if (error == 0) return socket;
  socket = Descriptor();
  errno = error;
  return socket;
}

std::string text_of(const sockaddr_storage& address, socklen_t size) {
  char text[NI_MAXHOST] = "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  return text;
}

}  // namespace

int poll_ms(Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  return int(std::clamp<int64_t>(left.count(), 0, 3'600'000));
}

short wait_for(int descriptor, short events, Clock::time_point until) {
  for (;;) {
    pollfd wanted{descriptor, events, 0};
    const int found = poll(&wanted, 1, poll_ms(until));
    if (found > 0) return wanted.revents;
    if (found == 0 && Clock::now() >= until) return 0;
    if (found < 0 && errno != EINTR) return POLLERR;
  }
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (number_ >= 0) close(number_);
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

Connection::Connection(Descriptor descriptor) : descriptor_(std::move(descriptor)) {
  if (!descriptor_) return;
  const int number = descriptor_.number();
  set_option(number, IPPROTO_TCP, TCP_NODELAY, 1);
  // A machine that is gone sends no end of the stream: an idle connection ends 30 s after its last
  // answer.
  set_option(number, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(number, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(number, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(number, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

Connection Connection::to(const std::string& address, int port, Clock::time_point until) {
  for (;;) {
    std::string reason;
    const Addresses found = addresses_of(address, port, 0, &reason);
    for (const addrinfo* one = found.get(); one; one = one->ai_next) {
      if (Descriptor socket = connected(*one, until)) return Connection(std::move(socket));
      reason = reason_of(errno);
    }
    check(Clock::now() < until, ErrorCode::kIo, "dist", "cannot connect to ", address, ":", port,
          ": ", reason);
    std::this_thread::sleep_for(milliseconds(20));
  }
}

std::optional<size_t> Connection::read(void* to, size_t bytes) {
  if (bytes == 0) return 0;
  const ssize_t count = recv(descriptor_.number(), to, bytes, 0);
  if (count > 0) return size_t(count);
  if (count < 0 && would_block()) return 0;
  return std::nullopt;
}

std::optional<size_t> Connection::write(const void* from, size_t bytes) {
  if (bytes == 0) return 0;
  const ssize_t count = ::send(descriptor_.number(), from, bytes, MSG_NOSIGNAL);
  if (count >= 0) return size_t(count);
  if (would_block()) return 0;
  return std::nullopt;
}

bool Connection::read_all(void* to, size_t bytes, Clock::time_point until) {
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    const std::optional<size_t> count = read(at, bytes);
    if (!count) return false;
    at += *count;
    bytes -= *count;
    if (*count == 0 && wait_for(descriptor(), POLLIN, until) == 0) return false;
  }
  return true;
}

bool Connection::write_all(const void* from, size_t bytes, Clock::time_point until) {
  for (auto* at = static_cast<const char*>(from); bytes > 0;) {
    const std::optional<size_t> count = write(at, bytes);
    if (!count) return false;
    at += *count;
    bytes -= *count;
    if (*count == 0 && wait_for(descriptor(), POLLOUT, until) == 0) return false;
  }
  return true;
}

std::string Connection::peer_address() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(descriptor(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return text_of(address, size);
}

std::string Connection::own_address() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(descriptor(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return text_of(address, size);
}

bool Connection::is_unanswered() const {
  // Unlike TCP_USER_TIMEOUT this spares a rank that is busy and does not read: it acknowledges.
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(descriptor(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  constexpr uint32_t kRepeats = 3, kMaxSilenceMs = 30'000;
  return info.tcpi_retransmits >= kRepeats && info.tcpi_last_ack_recv > kMaxSilenceMs;
}

bool Connection::has_ended() const { return wait_for(descriptor(), POLLRDHUP, Clock::now()) != 0; }

void Connection::finish() { shutdown(descriptor(), SHUT_WR); }

Listener::Listener(const std::string& address, int port) {
  std::string reason;
  for (const std::string& name : {address, std::string()}) {
    const Addresses found = addresses_of(name, port, AI_PASSIVE, &reason);
    bool is_elsewhere = !found;
    for (const addrinfo* one = found.get(); one && !descriptor_; one = one->ai_next) {
      descriptor_ = bound(*one);
      if (descriptor_) continue;
      reason = reason_of(errno);
      is_elsewhere = is_elsewhere || errno == EADDRNOTAVAIL;
    }
    // A name of a service, or of this machine as others see it.
    if (descriptor_ || !is_elsewhere) break;
  }
  check(bool(descriptor_), ErrorCode::kIo, "dist", "cannot take connections on ", address, ":",
        port, ": ", reason);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  getsockname(descriptor(), reinterpret_cast<sockaddr*>(&own), &size);
  port_ = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                          : reinterpret_cast<sockaddr_in&>(own).sin_port);
}

Connection Listener::accept() {
  return Connection(
      Descriptor(accept4(descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
}

bool wait_for_any(std::span<Waiting<Connection>> all, Clock::time_point until) {
  std::vector<pollfd> polled;
  for (const Waiting<Connection>& one : all)
    polled.push_back({one.connection->descriptor(),
                      short((one.read ? POLLIN : 0) | (one.write ? POLLOUT : 0)), 0});
  if (poll(polled.data(), polled.size(), poll_ms(until)) <= 0) return false;
  for (size_t i = 0; i < all.size(); i++) {
    all[i].can_read = polled[i].revents & (POLLIN | POLLHUP | POLLERR);
    all[i].can_write = polled[i].revents & POLLOUT;
  }
  return true;
}

}  // namespace wick::dist
