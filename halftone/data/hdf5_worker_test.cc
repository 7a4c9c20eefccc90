// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/hdf5_worker.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <limits>
#include <numeric>
#include <thread>

#include "halftone/base/testing.h"

namespace halftone::data {
namespace {

/// Returns bytes first, first + 1, ...; or runs `act` instead.
class FakeService : public Hdf5Service {
 public:
  explicit FakeService(std::function<void()> act = [] {}) : act_(std::move(act)) {}

  [[nodiscard]] const Hdf5Contents& contents() const override { return contents_; }
  [[nodiscard]] std::vector<std::byte> read(const Hdf5Range& range) const override {
    act_();
    std::vector<std::byte> result(range.count);
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = static_cast<std::byte>(range.first + i);
    }
    return result;
  }

 private:
  std::function<void()> act_;
  Hdf5Contents contents_ = {true, 200, {{Scalar::kUInt8, {1}}}, {5}};
};

std::unique_ptr<Hdf5Service> open_fake() { return std::make_unique<FakeService>(); }

/// A worker that runs `act` on every read.
std::unique_ptr<Hdf5Worker> worker_that(const std::function<void()>& act) {
  return std::make_unique<Hdf5Worker>([&] { return std::make_unique<FakeService>(act); });
}

std::vector<std::byte> read(Hdf5Worker& worker, std::size_t first, std::size_t count) {
  std::vector<std::byte> result(count);
  worker.read({0, first, count}, result);
  return result;
}

void expect_no_children() {
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

std::size_t num_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Hdf5Worker, AnswersFromASeparateProcess) {
  {
    Hdf5Worker worker(open_fake);
    EXPECT_NE(worker.pid(), ::getpid());
    EXPECT_EQ(worker.contents(), FakeService().contents());
    EXPECT_EQ(read(worker, 3, 2), (std::vector{std::byte{3}, std::byte{4}}));
    EXPECT_TRUE(read(worker, 3, 0).empty());
    EXPECT_EQ(read(worker, 0, 1 << 24).back(), std::byte{255});  // more than a socket holds
  }
  expect_no_children();
}

TEST(Hdf5Worker, SurvivesTheThreadThatMadeIt) {
  std::unique_ptr<Hdf5Worker> worker;
  std::jthread([&] { worker = std::make_unique<Hdf5Worker>(open_fake); }).join();
  EXPECT_EQ(read(*worker, 7, 1).front(), std::byte{7});
}

TEST(Hdf5Worker, AnswersSeveralThreads) {
  Hdf5Worker worker(open_fake);
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&worker, t] {
      for (std::size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(read(worker, t + i, 1).front(), std::byte(t + i));
      }
    });
  }
}

TEST(Hdf5Worker, ForwardsErrorsAndKeepsTheChild) {
  expect_error(ErrorKind::kUnsupported, "no such thing", [] {
    Hdf5Worker(
        []() -> std::unique_ptr<Hdf5Service> { fail(ErrorKind::kUnsupported, "no such thing"); });
  });
  int calls = 0;
  const auto worker = worker_that([&] {
    if (++calls == 1) fail(ErrorKind::kShape, std::string(100'000, 'x'));
    if (calls == 2) throw std::bad_alloc();
  });
  expect_error(ErrorKind::kShape, std::string(1 << 16, 'x'), [&] { read(*worker, 0, 1); });
  expect_error(ErrorKind::kFormat, "not a readable HDF5 file (std::bad_alloc)",
               [&] { read(*worker, 0, 1); });
  EXPECT_EQ(read(*worker, 9, 1).front(), std::byte{9});
  EXPECT_EQ(calls, 0);  // the child counts in its own memory
}

TEST(Hdf5Worker, ACrashIsAnErrorNowAndLater) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGKILL}) {
    const std::string text =
        "not a readable HDF5 file (the HDF5 library stopped with signal " + std::to_string(signal);
    expect_error(ErrorKind::kFormat, text + " while opening it)", [=] {
      Hdf5Worker([=]() -> std::unique_ptr<Hdf5Service> {
        ::raise(signal);
        return nullptr;
      });
    });
    const auto worker = worker_that([=] { ::raise(signal); });
    for (int i = 0; i < 2; ++i) {
      expect_error(ErrorKind::kFormat, text + " while reading 2 samples from 5 on)",
                   [&] { read(*worker, 5, 2); });
    }
  }
  expect_no_children();
}

TEST(Hdf5Worker, AChildKilledBetweenReadsIsAnError) {
  Hdf5Worker worker(open_fake);
  read(worker, 0, 1);
  ::kill(worker.pid(), SIGKILL);
  expect_error(ErrorKind::kFormat, "stopped with signal 9 while reading 1 samples from 0 on",
               [&] { read(worker, 0, 1); });
}

TEST(Hdf5Worker, AChildThatLeavesIsAnError) {
  const auto worker = worker_that([] { ::_exit(0); });
  expect_error(ErrorKind::kFormat, "library stopped while reading", [&] { read(*worker, 0, 1); });
}

TEST(Hdf5Worker, AnAnswerOfTheWrongSizeIsAnError) {
  Hdf5Worker worker(open_fake);
  std::vector<std::byte> room(3);
  for (int i = 0; i < 2; ++i) {  // the second read asks a worker that has ended
    expect_error(ErrorKind::kFormat,
                 "not a readable HDF5 file (the HDF5 library answered with the wrong number of "
                 "bytes while reading 2 samples from 0 on)",
                 [&] {
                   worker.read({0, 0, 2}, room);
                 });
  }
  expect_no_children();
}

TEST(Hdf5Worker, AMalformedAnswerIsAnError) {
  using Head = std::array<std::uint64_t, 2>;  // a failure and a number of bytes
  const std::vector<std::pair<Head, std::string>> cases = {
      {{99, 0}, "answered with an unknown error while"},
      {{1, 1 << 17}, "answered with the wrong number of bytes while"},
      {{0, 9}, "answered with the wrong number of bytes while"},
      {{0, std::uint64_t{1} << 60}, "answered with the wrong number of bytes while"}};
  for (const auto& [head, text] : cases) {
    const auto send = [&answer = head] {
      for (int socket = 3; socket < 100; ++socket) {  // one of them
        ::send(socket, answer.data(), sizeof(answer), MSG_NOSIGNAL);
      }
    };
    expect_error(ErrorKind::kFormat, text + " opening it", [&] {
      Hdf5Worker([&] {
        send();
        return open_fake();
      });
    });
    const auto worker = worker_that(send);
    expect_error(ErrorKind::kFormat, text + " reading 1 samples", [&] { read(*worker, 0, 1); });
  }
}

TEST(Hdf5Worker, StopsAChildThatNeverAnswers) {
  const auto worker = worker_that([] {
    rlimit limit{};
    ::getrlimit(RLIMIT_CPU, &limit);
    EXPECT_LE(limit.rlim_cur, 61u);
    limit.rlim_cur = 1;
    ::setrlimit(RLIMIT_CPU, &limit);
    for (std::atomic<int> i = 0;; ++i) {
    }
  });
  expect_error(ErrorKind::kFormat, "stopped with signal " + std::to_string(SIGXCPU),
               [&] { read(*worker, 0, 1); });
}

TEST(Hdf5Worker, AChildHasLimitedMemory) {
  const auto worker = worker_that([] {
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    if (limit.rlim_cur != RLIM_INFINITY) fail(ErrorKind::kUsage, "limited");
  });
  expect_error(ErrorKind::kUsage, "limited", [&] { read(*worker, 0, 1); });
}

TEST(Hdf5Worker, AChildPrintsNothingAndHoldsNoDescriptors) {
  testing::internal::CaptureStderr();
  const Hdf5Worker sibling(open_fake);
  const auto worker = worker_that([] {
    std::cerr << "noise" << std::endl;
    // Its three streams and its socket; the iterator holds one more.
    fail(ErrorKind::kUsage, "holds " + std::to_string(num_descriptors()) + ".");
  });
  expect_error(ErrorKind::kUsage, "holds 5.", [&] { read(*worker, 0, 1); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Hdf5Worker, FailsWithoutDescriptors) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  rlimit none = limit;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  std::exception_ptr failure;
  try {
    Hdf5Worker worker(open_fake);
  } catch (...) {
    failure = std::current_exception();
  }
  // Sanitizers need descriptors to inspect an object, so the old limit is restored first.
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ASSERT_TRUE(failure);
  expect_error(ErrorKind::kIo, "cannot open a socket: ", [&] { std::rethrow_exception(failure); });
}

TEST(Hdf5Worker, LeavesNoProcessesAndNoDescriptors) {
  const std::size_t before = num_descriptors();
  for (int i = 0; i < 30; ++i) {
    Hdf5Worker worker(open_fake);
    Hdf5Worker other(open_fake);
    read(worker, 0, 1);
  }
  EXPECT_EQ(num_descriptors(), before);
  expect_no_children();
}

}  // namespace
}  // namespace halftone::data
