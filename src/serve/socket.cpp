#include "serve/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>

#include "wick/base/file_error.h"

namespace wick::serve {
namespace {

using std::chrono::milliseconds;

/// Waits for one of the events. Returns those that occurred, 0 after the time.
short wait_for(int descriptor, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    pollfd wanted{descriptor, events, 0};
    const int found = poll(&wanted, 1, int(std::clamp<int64_t>(left.count(), 0, 3'600'000)));
    if (found > 0) return wanted.revents;
    if (found == 0 && Clock::now() >= until) return 0;
    if (found < 0 && errno != EINTR) return POLLERR;
  }
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// A socket that is bound to the address; -1, with errno, if that fails.
int bound_socket(const addrinfo& address) {
  const int descriptor =
      socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol);
  if (descriptor < 0) return -1;
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  constexpr int kBacklog = 512;
  if (bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 &&
      listen(descriptor, kBacklog) == 0)
    return descriptor;
  const int reason = errno;
  close(descriptor);
  errno = reason;
  return -1;
}

int port_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

Socket::Socket(int descriptor) : descriptor_(descriptor) {
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  // A stream's pieces are smaller than a packet, and must not wait for one another.
  const int yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

Socket::~Socket() { close(); }

void Socket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool Socket::read(std::string& to, Clock::time_point until) {
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t count = recv(descriptor_, buffer, sizeof buffer, 0);
    if (count > 0) {
      to.append(buffer, size_t(count));
      return true;
    }
    if (count == 0) return false;
    if (!would_block()) throw ClientGone("the connection failed");
    if (wait_for(descriptor_, POLLIN, until) == 0) return false;
  }
}

void Socket::write(std::string_view bytes, milliseconds patience) {
  while (!bytes.empty()) {
    const ssize_t count = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(size_t(count));
      continue;
    }
    if (!would_block()) throw ClientGone("the client closed the connection");
    if (wait_for(descriptor_, POLLOUT, Clock::now() + patience) == 0)
      throw ClientGone("the client does not read");
  }
}

bool Socket::is_closed() const {
  pollfd wanted{descriptor_, POLLRDHUP, 0};
  return poll(&wanted, 1, 0) > 0 && (wanted.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Socket::linger() {
  shutdown(descriptor_, SHUT_WR);
  constexpr size_t kMaxBytes = 1 << 20;
  const Clock::time_point until = Clock::now() + milliseconds(500);
  size_t dropped = 0;
  try {
    for (std::string bytes; dropped < kMaxBytes && read(bytes, until); bytes.clear())
      dropped += bytes.size();
  } catch (const ClientGone&) {  // NOLINT: it has closed too
  }
}

void Socket::shut_down() {
  if (descriptor_ >= 0) shutdown(descriptor_, SHUT_RDWR);
}

std::string Socket::peer() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[NI_MAXHOST] = "";
  if (getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text, sizeof text, nullptr, 0,
                NI_NUMERICHOST);
  return text;
}

Listener::Listener(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string where = host + ":" + std::to_string(port);
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found))
    fail_file(ENOENT, where,
              "expected an address or a name of this machine: ", gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  for (const addrinfo* address = found; address && descriptor_ < 0; address = address->ai_next)
    descriptor_ = bound_socket(*address);
  if (descriptor_ < 0) {
    const int reason = errno;
    fail_file(reason, where,
              "cannot take connections there: ", std::generic_category().message(reason));
  }
  port_ = port_of(descriptor_);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

Listener::~Listener() {
  ::close(descriptor_);
  ::close(wake_);
}

int Listener::accept() {
  for (;;) {
    pollfd wanted[] = {{descriptor_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(wanted, 2, -1) < 0 && errno != EINTR) return -1;
    if (wanted[1].revents != 0) return -1;
    const int connection = accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection >= 0) return connection;
    // Without descriptors or memory the connection waits for those that end.
    if (!would_block() && errno != ECONNABORTED) std::this_thread::sleep_for(milliseconds(10));
  }
}

void Listener::close() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

}  // namespace wick::serve
