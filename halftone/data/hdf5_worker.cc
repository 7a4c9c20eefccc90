// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/hdf5_worker.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>

#include "halftone/base/error.h"

namespace halftone::data {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxContentsBytes = std::size_t{1} << 27;  // 10^7 labels take 80 MB
constexpr rlim_t kMaxMemoryBytes = rlim_t{1} << 33;  // beyond the memory that the child starts with
constexpr rlim_t kMaxSeconds = 60;                   // CPU time for one answer
constexpr const char* kWrongSize = "the wrong number of bytes";

/// Header of every answer of the child.
struct AnswerHead {
  std::uint64_t failure = 0;  ///< 0, or 1 + the kind of an Error whose text follows
  std::uint64_t num_bytes = 0;
};

/// Transfers all bytes; returns false if the other side has closed. `step` is like send or recv.
template <typename Bytes, typename Step>
bool move_all(Bytes bytes, const Step& step) {
  while (!bytes.empty()) {
    const ssize_t moved = step(bytes.data(), bytes.size());
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(moved));
  }
  return true;
}

bool send_all(int socket, std::span<const std::byte> bytes) {
  return move_all(bytes, [=](const std::byte* data, std::size_t size) {
    return ::send(socket, data, size, MSG_NOSIGNAL);
  });
}

bool receive_all(int socket, std::span<std::byte> bytes) {
  return move_all(bytes,
                  [=](std::byte* data, std::size_t size) { return ::recv(socket, data, size, 0); });
}

template <typename T>
std::span<std::byte> bytes_of(T& object) {
  return std::as_writable_bytes(std::span(&object, 1));
}

bool send_answer(int socket, std::uint64_t failure, std::span<const std::byte> bytes) {
  AnswerHead head{failure, bytes.size()};
  return send_all(socket, bytes_of(head)) && send_all(socket, bytes);
}

/// Sends the vector that `body` returns, or the error that it throws.
template <typename Body>
bool answer(int socket, const Body& body) {
  ErrorKind kind = ErrorKind::kFormat;
  std::string text;
  try {
    const auto result = body();
    return send_answer(socket, 0, std::as_bytes(std::span(result)));
  } catch (const Error& error) {
    kind = error.kind();
    text = error.what();
  } catch (const std::exception& error) {
    text = std::string("not a readable HDF5 file (") + error.what() + ")";
  }
  text.resize(std::min(text.size(), kMaxTextBytes));
  return send_answer(socket, 1 + static_cast<std::uint64_t>(kind), std::as_bytes(std::span(text)));
}

template <typename Resource>
void set_soft_limit(Resource resource, rlim_t max) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min(max, limit.rlim_max);
  ::setrlimit(resource, &limit);
}

void limit_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  set_soft_limit(RLIMIT_CPU, seconds + kMaxSeconds);
}

/// The limit is relative to the memory inherited from the parent, which counts as well.
void limit_memory() {
  rlim_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return;
  set_soft_limit(RLIMIT_AS, pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kMaxMemoryBytes);
}

/// Detaches the child from everything of the parent but its memory: a crash is not caught, printed
/// or dumped. Closes the sockets of other children, so that those notice the end of the parent.
/// (PR_SET_PDEATHSIG would not work: it follows the thread that forked, and data sets outlive
/// threads.)
/// @return the socket, moved above the standard streams
int isolate(int socket) {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_DUMPABLE, 0);
  limit_memory();
  socket = ::fcntl(socket, F_DUPFD, STDERR_FILENO + 1);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (int stream = 0; stream <= STDERR_FILENO; ++stream) ::dup2(nowhere, stream);
  const auto kept = static_cast<unsigned>(socket);
  ::close_range(STDERR_FILENO + 1, kept - 1, 0);
  ::close_range(kept + 1, std::numeric_limits<unsigned>::max(), 0);
  return socket;
}

[[noreturn]] void run_child(int socket,
                            const std::function<std::unique_ptr<Hdf5Service>()>& open) noexcept {
  socket = isolate(socket);
  limit_time();
  std::unique_ptr<Hdf5Service> service;
  bool connected = answer(socket, [&] {
    service = open();
    return encode(service->contents());
  });
  Hdf5Range range;
  while (connected && service != nullptr && receive_all(socket, bytes_of(range))) {
    limit_time();
    connected = answer(socket, [&] { return service->read(range); });
  }
  ::_exit(0);
}

std::string system_message() { return std::strerror(errno); }

}  // namespace

Hdf5Worker::Hdf5Worker(const std::function<std::unique_ptr<Hdf5Service>()>& open) : Hdf5Worker() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail(ErrorKind::kIo, "cannot open a socket: " + system_message());
  }
  socket_ = ends[0];
  pid_ = ::fork();
  if (pid_ == 0) run_child(ends[1], open);
  const std::string message = system_message();
  ::close(ends[1]);
  if (pid_ < 0) fail(ErrorKind::kIo, "cannot start a process: " + message);
  const std::string doing = "opening it";
  const std::size_t size = receive_size(doing);
  if (size > kMaxContentsBytes || size % sizeof(std::uint64_t) != 0) {
    fail_malformed(kWrongSize, doing);
  }
  std::vector<std::uint64_t> numbers(size / sizeof(std::uint64_t));
  receive(std::as_writable_bytes(std::span(numbers)), doing);
  contents_ = decode(numbers);
}

Hdf5Worker::~Hdf5Worker() { stop(); }

void Hdf5Worker::read(const Hdf5Range& range, std::span<std::byte> dst) {
  const std::string doing = "reading " + std::to_string(range.count) + " samples from " +
                            std::to_string(range.first) + " on";
  const std::lock_guard lock(mutex_);
  Hdf5Range request = range;
  if (!send_all(socket_, bytes_of(request))) fail_stopped(doing);
  if (receive_size(doing) != dst.size()) fail_malformed(kWrongSize, doing);
  receive(dst, doing);
}

/// Receives the size of an answer; throws an answer that is an Error.
std::size_t Hdf5Worker::receive_size(const std::string& doing) {
  AnswerHead head;
  receive(bytes_of(head), doing);
  if (head.failure == 0) return head.num_bytes;
  if (head.failure > 1 + static_cast<std::uint64_t>(ErrorKind::kInternal)) {
    fail_malformed("an unknown error", doing);
  }
  if (head.num_bytes > kMaxTextBytes) fail_malformed(kWrongSize, doing);
  std::string text(head.num_bytes, '\0');
  receive(std::as_writable_bytes(std::span(text)), doing);
  fail(static_cast<ErrorKind>(head.failure - 1), text);
}

void Hdf5Worker::receive(std::span<std::byte> dst, const std::string& doing) {
  if (!receive_all(socket_, dst)) fail_stopped(doing);
}

/// Kills the child if it is still running, and records how it ended.
void Hdf5Worker::stop() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);  // no effect on a dead child: its exit status remains
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  if (pid_ <= 0) return;
  int status = 0;
  pid_t ended = -1;
  do {
    ended = ::waitpid(pid_, &status, 0);
  } while (ended < 0 && errno == EINTR);
  const bool by_signal = ended == pid_ && WIFSIGNALED(status);
  cause_ = by_signal ? "stopped with signal " + std::to_string(WTERMSIG(status)) : "stopped";
  pid_ = -1;
}

void Hdf5Worker::fail_stopped(const std::string& doing) {
  stop();
  fail(ErrorKind::kFormat,
       "not a readable HDF5 file (the HDF5 library " + cause_ + " while " + doing + ")");
}

/// For a child that is alive but can no longer be trusted.
void Hdf5Worker::fail_malformed(const std::string& answer, const std::string& doing) {
  stop();
  cause_ = "answered with " + answer;
  fail_stopped(doing);
}

}  // namespace halftone::data
