// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/devices.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/spmd/device_state.h"
#include "halftone/spmd/errors.h"

namespace halftone::spmd {

struct Devices::State {
  std::vector<std::size_t> rank_of;
  std::size_t first_local = 0;
  std::deque<std::mutex> batons;         ///< of the devices of this process
  std::shared_ptr<Transport> transport;  // shared with the code that opened it
  std::atomic<bool> ranks_claimed{false};
};

namespace {

void check_count(std::size_t count) {
  constexpr std::size_t kMax = 4096;
  if (count < 1 || count > kMax) {
    fail(ErrorKind::kUsage,
         "devices: expected 1 to " + std::to_string(kMax) + ", found " + std::to_string(count));
  }
}

}  // namespace

Devices Devices::emulate(std::size_t count) {
  check_count(count);
  Devices devices;
  devices.state_ = std::make_shared<State>();
  devices.state_->rank_of.assign(count, 0);
  devices.state_->batons.resize(count);
  devices.count_ = count;
  return devices;
}

Devices Devices::for_threads() { return emulate(static_cast<std::size_t>(num_threads())); }

Devices Devices::over(std::shared_ptr<Transport> transport, std::size_t per_rank) {
  check_count(per_rank);
  if (transport == nullptr || transport->num_ranks() == 1) return emulate(per_rank);
  std::vector<std::uint64_t> counts(transport->num_ranks());
  const std::uint64_t mine = per_rank;
  transport->all_gather(std::as_bytes(std::span(&mine, 1)),
                        std::as_writable_bytes(std::span(counts)));
  Devices devices;
  devices.state_ = std::make_shared<State>();
  State& state = *devices.state_;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (r == transport->rank()) state.first_local = state.rank_of.size();
    state.rank_of.insert(state.rank_of.end(), counts[r], r);
  }
  state.batons.resize(per_rank);
  state.transport = std::move(transport);
  devices.count_ = state.rank_of.size();
  return devices;
}

std::size_t Devices::num_local() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (rank_of(i) == rank()) ++count;
  }
  return count;
}

std::size_t Devices::rank() const { return transport() == nullptr ? 0 : transport()->rank(); }

std::size_t Devices::num_ranks() const {
  return transport() == nullptr ? 1 : transport()->num_ranks();
}

std::size_t Devices::rank_of(std::size_t index) const { return state_->rank_of[first_ + index]; }

Transport* Devices::transport() const {
  return state_ == nullptr ? nullptr : state_->transport.get();
}

Devices Devices::part(std::size_t begin, std::size_t count) const {
  HALFTONE_ASSERT(begin + count <= count_);
  Devices devices = *this;
  devices.first_ += begin;
  devices.count_ = count;
  return devices;
}

namespace internal {

std::mutex& baton(const Devices& devices, std::size_t index) {
  return devices.state_->batons[devices.first_ + index - devices.state_->first_local];
}

RanksClaim::RanksClaim(const Devices& devices) {
  if (devices.state_->ranks_claimed.exchange(true)) {
    fail(ErrorKind::kUsage, "another map uses these ranks");
  }
  state_ = devices.state_;
}

RanksClaim& RanksClaim::operator=(RanksClaim&& other) noexcept {
  release();
  state_ = std::move(other.state_);
  return *this;
}

void RanksClaim::release() {
  if (state_ != nullptr) state_->ranks_claimed = false;
  state_ = nullptr;
}

}  // namespace internal

std::size_t Placement::device_of(std::size_t lane) const {
  return lane * devices.size() / num_lanes;
}

Devices Placement::devices_of(std::size_t lane) const {
  const std::size_t begin = device_of(lane);
  std::size_t end = std::max(begin + 1, device_of(lane + 1));
  while (devices.rank_of(end - 1) != devices.rank_of(begin)) --end;
  return devices.part(begin, end - begin);
}

std::size_t Placement::first_lane(std::size_t rank) const {
  std::size_t lane = 0;
  while (lane < num_lanes && rank_of(lane) < rank) ++lane;
  return lane;
}

}  // namespace halftone::spmd
