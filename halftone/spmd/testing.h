// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of this module. Only tests include this.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/spmd/array.hpp"
#include "halftone/spmd/transport.hpp"

namespace halftone::spmd {

template <Element T>
std::vector<T> values(const Array& array) {
  return {array.as<T>().begin(), array.as<T>().end()};
}

inline bool same_bits(const Array& a, const Array& b) {
  return a.same_type(b) && std::ranges::equal(a.bytes(), b.bytes());
}

/// Values of both signs and many magnitudes, so that sums depend on their order.
template <Element T>
Array random_array(Shape shape, std::uint64_t seed) {
  return Array::make<T>(std::move(shape), [seed](std::span<T> elements) {
    Random random(seed);
    for (T& x : elements) {
      const double magnitude = static_cast<double>(std::uint64_t{1} << random.below(40));
      x = static_cast<T>((random.uniform() - 0.5) * magnitude / 1e5);
    }
  });
}

/// A tree of arrays: y = slope x + offset.
struct AffineMap {
  Array slope = Array::scalar(0.F);
  Array offset = Array::scalar(0.F);
  static auto members(auto& self) { return std::tie(self.slope, self.offset); }
};

/// Emulates ranks with threads of this process.
class LocalRanks {
 public:
  explicit LocalRanks(std::size_t count) : shared_(std::make_shared<Shared>(count)) {}

  /// Calls body with the transport of each rank, each on its own thread.
  /// @return the result of each rank
  template <typename Body>
  auto run(const Body& body) {
    std::vector<std::invoke_result_t<Body, std::shared_ptr<Transport>>> results(shared_->count);
    {
      std::vector<std::jthread> threads;
      for (std::size_t r = 0; r < results.size(); ++r) {
        threads.emplace_back([&results, r, this, &body] {
          try {
            results[r] = body(std::make_shared<Rank>(shared_, r));
          } catch (const std::exception& error) {
            ADD_FAILURE() << "rank " << r << ": " << error.what();
          }
        });
      }
    }
    return results;
  }

 private:
  struct Shared {
    explicit Shared(std::size_t n) : count(n), mine(n) {}
    const std::size_t count;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::vector<std::byte>> mine;
    std::size_t num_here = 0;
    std::size_t round = 0;
    std::map<std::pair<std::size_t, std::size_t>, std::deque<std::vector<std::byte>>> mail;
    std::string ended;
  };

  class Rank : public Transport {
   public:
    Rank(std::shared_ptr<Shared> shared, std::size_t rank)
        : shared_(std::move(shared)), rank_(rank) {}
    [[nodiscard]] std::size_t rank() const override { return rank_; }
    [[nodiscard]] std::size_t num_ranks() const override { return shared_->count; }

    void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
      std::unique_lock lock(shared_->mutex);
      shared_->mine[rank_].assign(mine.begin(), mine.end());
      meet(lock);
      for (const auto& bytes : shared_->mine) {
        ASSERT_EQ(bytes.size(), mine.size());
        all = all.subspan(
            static_cast<std::size_t>(std::ranges::copy(bytes, all.begin()).out - all.begin()));
      }
      meet(lock);
    }

    void exchange(std::span<const Parcel<const std::byte>> sent,
                  std::span<const Parcel<std::byte>> received) override {
      std::unique_lock lock(shared_->mutex);
      for (const auto& parcel : sent) {
        shared_->mail[{rank_, parcel.rank}].emplace_back(parcel.bytes.begin(), parcel.bytes.end());
      }
      shared_->changed.notify_all();
      for (const auto& parcel : received) {
        auto& box = shared_->mail[{parcel.rank, rank_}];
        wait(lock, [&box] { return !box.empty(); });
        ASSERT_EQ(box.front().size(), parcel.bytes.size());
        std::ranges::copy(box.front(), parcel.bytes.begin());
        box.pop_front();
      }
    }

    void end_all_ranks(const std::string& message) noexcept override {
      const std::lock_guard lock(shared_->mutex);
      shared_->ended = message;
      shared_->changed.notify_all();
    }

   private:
    void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done) {
      shared_->changed.wait(lock, [&] { return done() || !shared_->ended.empty(); });
      if (!shared_->ended.empty()) fail(ErrorKind::kDevice, shared_->ended);
    }

    void meet(std::unique_lock<std::mutex>& lock) {
      const std::size_t round = shared_->round;
      if (++shared_->num_here == shared_->count) {
        shared_->num_here = 0;
        ++shared_->round;
        shared_->changed.notify_all();
      }
      wait(lock, [&] { return shared_->round != round; });
    }

    std::shared_ptr<Shared> shared_;  // shared: ranks end at different times
    std::size_t rank_;
  };

  std::shared_ptr<Shared> shared_;  // likewise
};

}  // namespace halftone::spmd
