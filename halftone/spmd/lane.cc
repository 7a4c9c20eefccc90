// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/lane.h"

#include <algorithm>
#include <set>

#include "halftone/spmd/errors.h"

namespace halftone::spmd::internal {
namespace {

std::string mapped_names(const std::vector<Frame>& frames) {
  std::string names;
  for (const Frame& frame : frames) {
    if (frame.run->axis_name.empty()) continue;
    names += (names.empty() ? "'" : ", '") + frame.run->axis_name + "'";
  }
  return names.empty() ? "no axis is mapped here" : "mapped axes: " + names;
}

/// @throws Error kUsage unless each index of the axis is in one group, and all have one size
void check_groups(const std::string& where, const std::vector<std::vector<std::size_t>>& groups,
                  std::size_t size) {
  std::set<std::size_t> seen;
  for (const std::vector<std::size_t>& group : groups) {
    if (group.size() != groups.front().size()) {
      fail(ErrorKind::kUsage, where + ": expected groups of equal size, found " +
                                  std::to_string(groups.front().size()) + " and " +
                                  std::to_string(group.size()) + " lanes");
    }
    for (const std::size_t index : group) {
      if (index >= size || !seen.insert(index).second) {
        fail(ErrorKind::kUsage, where + ": index " + std::to_string(index) +
                                    " is in two groups or not below " + std::to_string(size));
      }
    }
  }
  if (seen.size() != size) {
    fail(ErrorKind::kUsage, where + ": groups contain " + std::to_string(seen.size()) + " of " +
                                std::to_string(size) + " lanes");
  }
}

/// Which frames the axes name.
/// @throws Error kUsage if there are no axes, or one is unknown or named twice
std::vector<char> named_frames(const std::vector<Frame>& frames, const std::string& name,
                               const std::vector<std::string>& axes) {
  std::vector<char> is_named(frames.size());
  for (const std::string& axis : axes) {
    const auto frame = std::find_if(frames.begin(), frames.end(),
                                    [&](const Frame& f) { return f.run->axis_name == axis; });
    if (axis.empty() || frame == frames.end()) {
      fail(ErrorKind::kUsage, name + ": there is no axis '" + axis + "'; " + mapped_names(frames));
    }
    char& named = is_named[static_cast<std::size_t>(frame - frames.begin())];
    if (named != 0) fail(ErrorKind::kUsage, name + ": axis '" + axis + "' is named twice");
    named = 1;
  }
  if (axes.empty()) fail(ErrorKind::kUsage, name + ": expected at least one axis, found none");
  return is_named;
}

/// Sets the participants to the group that contains `index`.
void join_group(Address& address, const std::vector<std::vector<std::size_t>>& groups,
                std::size_t index) {
  for (const std::vector<std::size_t>& group : groups) {
    const auto at = std::find(group.begin(), group.end(), index);
    if (at == group.end()) continue;
    address.group = group;
    address.num_lanes = group.size();
    address.position = static_cast<std::size_t>(at - group.begin());
  }
}

/// The part of a key for one frame; `index` is "*" if its axis is named.
std::string frame_key(const Frame& frame, const std::string& index) {
  return std::to_string(frame.run->number) + ":" + frame.run->axis_name + ":" +
         std::to_string(frame.run->size) + ":" + index + "/";
}

}  // namespace

Lane*& Lane::current() {
  thread_local Lane* lane = nullptr;
  return lane;
}

std::vector<Frame> frames_of(const Lane& lane) {
  std::vector<Frame> frames;
  for (const Lane* l = &lane; l != nullptr; l = l->run->parent) {
    frames.push_back({l->run, l->index});
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

std::string label(const std::vector<Frame>& frames) {
  std::string text;
  for (const Frame& frame : frames) {
    const std::string& name = frame.run->axis_name;
    text += (text.empty() ? "" : ", ") + (name.empty() ? std::string("lane ") : name + "=") +
            std::to_string(frame.index);
  }
  return text;
}

std::string device_label(const Lane& lane) {
  const Lane* on = &lane;
  while (on != nullptr && on->run->placement.devices.size() < 2) on = on->run->parent;
  if (on == nullptr) return "";
  const Placement& placement = on->run->placement;
  const std::string rank =
      on->run->spans_ranks() ? " (rank " + std::to_string(placement.rank_of(on->index)) + ")" : "";
  return "on device " + std::to_string(placement.device_of(on->index) + 1) + " of " +
         std::to_string(placement.devices.size()) + rank + ": ";
}

std::vector<std::size_t> path_of(const Lane& lane) {
  std::vector<std::size_t> path;
  for (const Frame& frame : frames_of(lane)) path.push_back(frame.index);
  return path;
}

std::vector<Frame> Address::frames_at(std::size_t other) const {
  std::vector<Frame> result = frames;
  for (std::size_t f = frames.size(); f-- > 0;) {
    if (is_named[f] == 0) continue;
    const std::size_t size = group.empty() ? frames[f].run->size : group.size();
    result[f].index = group.empty() ? other % size : group[other % size];
    other /= size;
  }
  return result;
}

bool Address::matches(const Address& other) const {
  if (root != other.root || is_named != other.is_named || group != other.group) return false;
  bool below_root = false;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const Frame& a = frames[f];
    const Frame& b = other.frames[f];
    if (below_root && (a.run->number != b.run->number || a.run->axis_name != b.run->axis_name ||
                       a.run->size != b.run->size)) {
      return false;
    }
    if (is_named[f] == 0 && a.index != b.index) return false;
    below_root = below_root || a.run == root;
  }
  return true;
}

std::string Address::key() const {
  std::string key;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    key += frame_key(frames[f], is_named[f] != 0 ? "*" : std::to_string(frames[f].index));
  }
  if (!group.empty()) key += "group of " + std::to_string(group.front());
  return key;
}

Address resolve(const Lane* lane, const std::string& name, const std::vector<std::string>& axes,
                const std::vector<std::vector<std::size_t>>& groups) {
  Address address;
  if (lane != nullptr) address.frames = frames_of(*lane);
  address.is_named = named_frames(address.frames, name, axes);
  if (!groups.empty() && axes.size() != 1) {
    fail(ErrorKind::kUsage, name + ": groups need exactly one axis, found several");
  }
  for (std::size_t f = 0; f < address.frames.size(); ++f) {
    if (address.is_named[f] == 0) continue;
    const Frame& frame = address.frames[f];
    if (address.root == nullptr) address.root = frame.run;
    if (address.spanning != nullptr) address.num_inside *= frame.run->size;
    if (frame.run->spans_ranks()) address.spanning = frame.run;
    if (groups.empty()) {
      address.position = address.position * frame.run->size + frame.index;
      address.num_lanes *= frame.run->size;
    } else {
      check_groups(name + " over '" + axes.front() + "'", groups, frame.run->size);
      join_group(address, groups, frame.index);
    }
  }
  return address;
}

std::optional<std::size_t> Meeting::lost_lane() const {
  for (std::size_t p = 0; p < address.num_lanes; ++p) {
    if (arrived[p] == 0 && address.root->ended[address.root_lane(p)] != 0) return p;
  }
  return std::nullopt;
}

}  // namespace halftone::spmd::internal
