// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <thread>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/spmd/agreement.h"

namespace halftone::spmd {
namespace {

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  fail(ErrorKind::kDevice, std::string(what) + ": " + text);
}

/// Waits without occupying a core for long; MPI's own wait never sleeps. It polls first, since most
/// exchanges take less time than the system needs to wake a thread.
void wait(std::vector<MPI_Request>& requests) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kAwake = std::chrono::milliseconds(2);
  const auto begin = Clock::now();
  auto pause = std::chrono::microseconds(50);
  for (;;) {
    int done = 0;
    check(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (done != 0) return;
    if (Clock::now() - begin < kAwake) continue;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
}

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_SERIALIZED) {
      MPI_Finalize();
      fail(ErrorKind::kDevice,
           "expected an MPI library that supports MPI_THREAD_SERIALIZED, found one that does not");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks_);
  }
  ~MpiTransport() override { MPI_Finalize(); }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t num_ranks() const override {
    return static_cast<std::size_t>(num_ranks_);
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (mine.size() > kMaxBytes)
      fail(ErrorKind::kUnsupported,
           "message: expected at most 1 GiB, found " + std::to_string(mine.size()) + " bytes");
    std::vector<MPI_Request> requests(1);
    const int count = static_cast<int>(mine.size());
    check(MPI_Iallgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, MPI_COMM_WORLD,
                         requests.data()),
          "MPI_Iallgather");
    wait(requests);
  }

  void exchange(std::span<const Parcel<const std::byte>> sent,
                std::span<const Parcel<std::byte>> received) override {
    std::vector<MPI_Request> requests;
    for (const auto& parcel : received) {
      in_pieces(parcel, [&](std::byte* data, int count, int rank) {
        check(MPI_Irecv(data, count, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests.emplace_back()),
              "MPI_Irecv");
      });
    }
    for (const auto& parcel : sent) {
      in_pieces(parcel, [&](const std::byte* data, int count, int rank) {
        check(MPI_Isend(data, count, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests.emplace_back()),
              "MPI_Isend");
      });
    }
    wait(requests);
  }

  void end_all_ranks(const std::string& message) noexcept override {
    static_cast<void>(std::fprintf(stderr, "rank %d: %s\n", rank_, message.c_str()));
    MPI_Abort(MPI_COMM_WORLD, kExitCode);
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
  static constexpr int kExitCode = 5;  ///< that the command line uses for a failed device

  /// MPI counts are int, so larger parcels are sent in pieces.
  template <typename Byte, typename Transfer>
  static void in_pieces(const Parcel<Byte>& parcel, Transfer transfer) {
    for (std::size_t at = 0; at < parcel.bytes.size(); at += kMaxBytes) {
      transfer(parcel.bytes.data() + at,
               static_cast<int>(std::min(kMaxBytes, parcel.bytes.size() - at)),
               static_cast<int>(parcel.rank));
    }
  }

  int rank_ = 0;
  int num_ranks_ = 1;
};

}  // namespace

MpiSession::MpiSession() {
  // Open MPI and PMI launchers set one of these. Without a launcher, MPI_Init would start daemons.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) == nullptr) continue;
    transport_ = std::make_shared<MpiTransport>();
    return;
  }
}

MpiSession::~MpiSession() { end(); }

void MpiSession::end(const std::string& error) noexcept {
  if (transport_ == nullptr) return;
  const std::shared_ptr<Transport> transport = std::exchange(transport_, nullptr);
  try {
    // Other ranks may still be in a map: they learn that this rank has left, and end too.
    const std::string program = "the end of the program" + (error.empty() ? "" : ": " + error);
    const internal::Header header{.program = internal::hash("the end of the program")};
    bool all_end = false;
    while (!all_end) {
      const auto headers = internal::all_headers(*transport, header);
      all_end = !internal::difference(*transport, headers, program);
    }
  } catch (const std::exception& failure) {
    transport->end_all_ranks(failure.what());
  }
}

}  // namespace halftone::spmd
