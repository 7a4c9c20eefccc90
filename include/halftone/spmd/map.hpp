// SPDX-License-Identifier: Apache-2.0
// Maps functions written for one device over many.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/spmd/sharded.hpp"

namespace halftone::spmd {
namespace internal {
struct MapRun;
}

inline namespace v0 {

/// For MapOptions::in_axes.
// NOLINTNEXTLINE(readability-identifier-naming): written next to axis numbers.
inline constexpr std::nullopt_t none = std::nullopt;

/// For vmap(), pmap() and spread().
struct MapOptions {
  /// The name that collectives inside the function use for the axis; empty: they cannot use it.
  std::string axis_name{};
  /// For each argument the axis of its leaves along which it is split, or `none`: every lane gets
  /// the whole argument. Empty: axis 0 of each tree. Arguments that are no trees go to every lane
  /// unchanged.
  std::vector<std::optional<std::size_t>> in_axes{};
  /// The axis of the result's leaves along which the lanes lie: immediately with vmap, after
  /// gather() with pmap.
  std::size_t out_axes = 0;
  /// The number of lanes if no argument is split.
  std::optional<std::size_t> axis_size{};
  /// The devices of an outermost map over devices. An inner map uses those of the enclosing lane.
  Devices devices{};
};

namespace detail {

enum class MapKind { kVmap, kPmap, kSpread };

/// The properties of an argument before a map runs.
struct Argument {
  std::optional<Flat> tree;            ///< nothing: not a tree
  std::optional<Placement> placement;  ///< of a sharded argument
  ShardAxis shard_axis;
};

/// A map that is ready to run.
struct HALFTONE_CPP_API MapPlan {
  std::vector<std::optional<std::size_t>> in_axes{};
  PlacementPointer placement;  ///< of its lanes; without devices for vmap
  std::size_t first_local = 0;
  std::size_t num_local = 0;  ///< lanes of this process
  std::shared_ptr<internal::MapRun>
      run;  // shared with helper threads that start after the map's end

  /// Calls body(i) once for each lane of this process.
  void execute(const std::function<void(std::size_t)>& body) const;
};
HALFTONE_CPP_API MapPlan make_plan(MapKind kind, const MapOptions& options,
                                   const std::vector<Argument>& arguments);

template <typename T>
struct IsSharded : std::false_type {};
template <typename T>
struct IsSharded<Sharded<T>> : std::true_type {
  using Shard = T;
};

/// The type in which a lane receives an argument.
template <MapKind kKind, typename T>
struct LaneArgument {
  using Type = const T&;
};
template <MapKind kKind, Tree T>
struct LaneArgument<kKind, T> {
  using Type = T;
};
template <MapKind kKind, Tree T>
requires(kKind != MapKind::kVmap) struct LaneArgument<kKind, Sharded<T>> {
  using Type = T;
};

template <MapKind kKind, typename T>
Argument describe(const T& argument) {
  if constexpr (IsSharded<T>::value && kKind != MapKind::kVmap) {
    if (argument.size() == 0) fail_shard(0, 0);
    return {std::nullopt, argument.placement(), argument.axis()};
  } else if constexpr (Tree<T>) {
    return {flatten(argument), std::nullopt, {}};
  } else {
    return {};
  }
}

template <MapKind kKind, typename T>
typename LaneArgument<kKind, T>::Type lane_argument(const T& argument, const Argument& described,
                                                    std::optional<std::size_t> axis,
                                                    std::size_t lane) {
  if constexpr (IsSharded<T>::value && kKind != MapKind::kVmap) {
    return argument.at(lane);
  } else if constexpr (Tree<T>) {
    return axis ? unflatten<T>(lane_of(*described.tree, *axis, lane)) : argument;
  } else {
    return argument;
  }
}

/// A map together with its arguments.
template <MapKind kKind, typename F, typename... Arguments>
class Call {
 public:
  using Result = std::remove_cvref_t<
      std::invoke_result_t<const F&, typename LaneArgument<kKind, Arguments>::Type...>>;
  static constexpr bool kHasResult = !std::is_void_v<Result>;

  Call(const F& function, const MapOptions& options, const Arguments&... arguments)
      : function_(function),
        arguments_(arguments...),
        described_{describe<kKind>(arguments)...},
        plan_(make_plan(kKind, options, described_)) {}

  [[nodiscard]] const MapPlan& plan() const { return plan_; }
  Result operator()(std::size_t lane) const {
    return call(lane, std::index_sequence_for<Arguments...>());
  }

 private:
  template <std::size_t... kIndex>
  Result call([[maybe_unused]] std::size_t lane, std::index_sequence<kIndex...> /*unused*/) const {
    return std::invoke(function_,
                       lane_argument<kKind>(std::get<kIndex>(arguments_), described_[kIndex],
                                            plan_.in_axes[kIndex], lane)...);
  }

  const F& function_;
  std::tuple<const Arguments&...> arguments_;
  std::vector<Argument> described_;
  MapPlan plan_;
};

/// Runs the lanes of this process and returns their results.
template <typename Result, typename AnyCall>
std::vector<Result> collect(const AnyCall& call) {
  const std::size_t first = call.plan().first_local;
  std::vector<Result> results(call.plan().num_local);
  call.plan().execute([&](std::size_t lane) { results[lane - first] = call(lane); });
  return results;
}

}  // namespace detail

/// Turns a function of one lane's arguments into a function of whole arguments; see vmap() and
/// pmap().
template <detail::MapKind kKind, typename F>
class Mapped {
 public:
  /// @param function  called for each lane
  Mapped(F function, MapOptions options)
      : function_(std::move(function)), options_(std::move(options)) {}

  /// Calls the function for each lane. @throws Error as vmap() and pmap() say
  template <typename... Arguments>
  auto operator()(const Arguments&... arguments) const {
    using Call = detail::Call<kKind, F, Arguments...>;
    using Result = typename Call::Result;
    const Call call(function_, options_, arguments...);
    if constexpr (!Call::kHasResult) {
      call.plan().execute([&call](std::size_t lane) { call(lane); });
    } else if constexpr (kKind == detail::MapKind::kVmap) {
      static_assert(Tree<Result>, "a mapped function returns a tree of arrays, or nothing");
      std::vector<Flat> lanes;
      for (const Result& result : detail::collect<Result>(call)) {
        lanes.push_back(flatten(result));
      }
      return unflatten<Result>(stack_lanes(lanes, options_.out_axes));
    } else {
      static_assert(Tree<Result>, "a mapped function returns a tree of arrays, or nothing");
      return Sharded<Result>(detail::collect<Result>(call), ShardAxis{options_.out_axes},
                             call.plan().placement);
    }
  }

 private:
  F function_;
  MapOptions options_;
};

/// Maps f over a batch axis on the caller's device; its lanes run in turn.
///     vmap(f)(x) = stack of f(x[0]), f(x[1]), ...
/// The lanes lie along axis options.out_axes of the result's leaves.
/// @throws Error  when called: kUsage if the axis name is in use, in_axes and the arguments differ
///                in number, or no argument is split; kShape if extents are zero or differ, or if
///                results differ; what the first lane that failed threw, as it is
template <typename F>
auto vmap(F f, MapOptions options = {}) {
  return Mapped<detail::MapKind::kVmap, F>(std::move(f), std::move(options));
}

/// Runs f once per shard, each on its own device; the results stay there.
///     pmap(f)(x) = Sharded of f(x[0]), f(x[1]), ...
/// Arguments are split as with vmap, or are already sharded along the axis in in_axes.
/// @throws Error  when called: as vmap(), and kUsage if there are more lanes than devices, or an
///                argument is sharded along another axis or over other devices
template <typename F>
auto pmap(F f, MapOptions options = {}) {
  return Mapped<detail::MapKind::kPmap, F>(std::move(f), std::move(options));
}

/// As pmap, for any number of lanes. Each device runs neighbouring lanes in turn. The lanes form
/// one axis for any number of devices, so that sums over it do not depend on that number.
template <typename F>
auto spread(F f, MapOptions options = {}) {
  return Mapped<detail::MapKind::kSpread, F>(std::move(f), std::move(options));
}

namespace detail {
/// Accumulates the result of spread_sum(); lanes add to it from several threads.
class HALFTONE_CPP_API LaneSum {
 public:
  explicit LaneSum(const MapPlan& plan);
  ~LaneSum();
  LaneSum(const LaneSum&) = delete;
  LaneSum& operator=(const LaneSum&) = delete;
  void add(std::size_t lane, Flat result);
  [[nodiscard]] Flat total() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace detail

/// The sum of the results of spread(f), on every rank; bit for bit the psum over its axis. Results
/// are added as lanes end: of n lanes on a device, at most log2(n) + 1 partial sums are in memory.
/// @throws Error  when called: as spread(); kShape if results differ
template <typename F>
auto spread_sum(F f, MapOptions options = {}) {
  return [f = std::move(f), options = std::move(options)](const auto&... arguments) {
    const detail::Call<detail::MapKind::kSpread, F, std::remove_cvref_t<decltype(arguments)>...>
    call(f, options, arguments...);
    using Result = typename decltype(call)::Result;
    static_assert(Tree<Result>, "only trees of arrays can be summed");
    detail::LaneSum sum(call.plan());
    call.plan().execute([&](std::size_t lane) { sum.add(lane, flatten(call(lane))); });
    return unflatten<Result>(sum.total());
  };
}

}  // namespace v0
}  // namespace halftone::spmd
