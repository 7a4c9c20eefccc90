// SPDX-License-Identifier: Apache-2.0
// Accesses and energies of two published designs, DATA/oracles/timeloop_reference.csv.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "halftone/accel/mapping/accesses.h"
#include "halftone/base/oracle_testing.h"

namespace halftone::accel::mapping {
namespace {

using oracle::Row;

std::vector<Row> reference_rows(const std::string& design) {
  std::vector<Row> rows = oracle::oracle_rows("timeloop_reference.csv");
  std::erase_if(rows, [&](const Row& row) { return row.at("design") != design; });
  return rows;
}

/// A published design: its rows, and what is built of them.
class Reference {
 public:
  explicit Reference(const std::string& design) : rows_(reference_rows(design)) {
    if (rows_.empty()) return;
    for (const Row& row : rows_) {
      values_[{row.at("section"), row.at("level"), row.at("item"), row.at("field")}] =
          row.at("value");
    }
    problem_ = convolution(
        {count("problem", "", "N", "size"),
         count("problem", "", "C", "size"),
         count("problem", "", "M", "size"),
         count("problem", "", "P", "size"),
         count("problem", "", "Q", "size"),
         count("problem", "", "R", "size"),
         count("problem", "", "S", "size"),
         {count("problem", "", "Hstride", "size"), count("problem", "", "Wstride", "size")}});
    for (const Row& row : rows_) {
      if (row.at("section") == "level") add_level(row.at("level"));
      if (row.at("section") == "tile") mapping_.levels.back().keeps[space(row.at("item"))] = true;
      if (row.at("section") == "loop") add_loop(row);
    }
    set_instances();
    hierarchy_.mac_pj = number("energy_per_action", "mac", "", "compute_pj");
  }

  [[nodiscard]] bool is_absent() const { return rows_.empty(); }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const Hierarchy& hierarchy() const { return hierarchy_; }
  [[nodiscard]] const Mapping& mapping() const { return mapping_; }
  [[nodiscard]] std::size_t level(const std::string& name) const { return levels_.at(name); }
  [[nodiscard]] std::size_t space(const std::string& name) const {
    for (std::size_t x = 0; x < problem_.data_spaces.size(); ++x) {
      if (problem_.data_spaces[x].name == name) return x;
    }
    throw std::out_of_range(name);
  }
  [[nodiscard]] double number(const std::string& section, const std::string& level,
                              const std::string& item, const std::string& field) const {
    const auto found = values_.find({section, level, item, field});
    return found == values_.end() ? 0 : std::stod(found->second);
  }
  [[nodiscard]] std::uint64_t count(const std::string& section, const std::string& level,
                                    const std::string& item, const std::string& field) const {
    return static_cast<std::uint64_t>(number(section, level, item, field));
  }

 private:
  void add_level(const std::string& name) {
    levels_[name] = hierarchy_.levels.size();
    Level level;
    level.name = name;
    level.keeps.assign(problem_.data_spaces.size(), true);
    if (const std::uint64_t bits = count("spec", name, "", "word_bits")) {
      level.word_bits.assign(problem_.data_spaces.size(), bits);
      level.access_bits = bits * count("spec", name, "", "block_size_words");
      level.capacity_bits = bits * count("spec", name, "", "size_words");
    }
    const auto energy = [&](const char* action) {
      return number("energy_per_action", name, "", action);
    };
    level.read_pj = energy("read_pj_per_block");
    level.write_pj = energy("write_pj_per_block");
    level.update_pj = energy("update_pj_per_block");
    level.leakage_pj = energy("leak_pj_per_instance_cycle");
    hierarchy_.levels.push_back(level);
    mapping_.levels.emplace_back().keeps.assign(problem_.data_spaces.size(), false);
  }

  void add_loop(const Row& row) {
    std::size_t d = 0;
    while (problem_.dimensions[d].name != row.at("item")) ++d;
    const std::uint64_t bound = std::stoull(row.at("value"));
    if (row.at("field") == "temporal") {
      mapping_.levels.back().temporal.push_back({d, bound});
      return;
    }
    mapping_.levels.back().spatial.push_back({d, bound, 0});
    auto& fan_out = hierarchy_.levels.back().fan_out;
    if (fan_out.empty()) fan_out.push_back({});
    fan_out[0].instances *= bound;
  }

  /// Widens the innermost fan-out to the MACs that there are.
  void set_instances() {
    const std::uint64_t used = hierarchy_.num_macs();
    for (auto level = hierarchy_.levels.rbegin(); level != hierarchy_.levels.rend(); ++level) {
      if (level->fan_out.empty()) continue;
      const std::uint64_t others = used / level->fan_out[0].instances;
      level->fan_out[0].instances = count("spec", "mac", "", "instances") / others;
      return;
    }
  }

  std::vector<Row> rows_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::string> values_;
  std::map<std::string, std::size_t> levels_;
  Problem problem_;
  Hierarchy hierarchy_;
  Mapping mapping_;
};

/// With the two decimals that the table has.
std::string printed(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::string count_of(const LevelAccesses& level, std::size_t space, const std::string& field) {
  const SpaceAccesses& accesses = level.spaces[space];
  const std::map<std::string, std::uint64_t> fields = {
      {"utilized_instances", level.utilized_instances},
      {"reads_per_instance", accesses.reads},
      {"fills_per_instance", accesses.fills},
      {"updates_per_instance", accesses.updates},
      {"temporal_reductions_per_instance", accesses.temporal_reductions}};
  return std::to_string(fields.at(field));
}

std::string energy_of(const Reference& reference, const MappingCosts& found, const Row& row) {
  if (row.at("level") == "mac") return printed(found.mac_energy_pj);
  const LevelAccesses& level = found.levels[reference.level(row.at("level"))];
  if (row.at("field") == "leakage_total_pj") return printed(level.leakage_pj);
  const double energy = level.spaces[reference.space(row.at("item"))].energy_pj;
  const auto instances = static_cast<double>(level.utilized_instances);
  return printed(row.at("field") == "total_pj" ? energy * instances : energy);
}

std::string summary_of(const Reference& reference, const MappingCosts& found, const Row& row) {
  const auto macs = static_cast<double>(found.macs);
  if (row.at("field") == "cycles") return std::to_string(found.compute_cycles);
  if (row.at("field") == "macs") return std::to_string(found.macs);
  if (row.at("field") == "utilization_percent") return printed(100 * found.utilization);
  if (row.at("field") == "energy_uj") return printed(found.energy_pj / 1e6);
  if (row.at("field") == "total_fj_per_mac") return printed(1e3 * found.energy_pj / macs);
  if (row.at("level") == "mac") return printed(1e3 * found.mac_energy_pj / macs);
  return printed(1e3 * found.levels[reference.level(row.at("level"))].energy_pj / macs);
}

class PublishedDesign : public testing::TestWithParam<const char*> {};

TEST_P(PublishedDesign, HasItsCountsAndEnergies) {
  const Reference reference(GetParam());
  if (reference.is_absent()) GTEST_SKIP() << "no timeloop_reference.csv; set HALFTONE_DATA";
  const MappingCosts found =
      evaluate(reference.problem(), reference.hierarchy(), reference.mapping());
  std::size_t compared = 0;
  for (const Row& row : reference.rows()) {
    std::string text;
    if (row.at("section") == "tile") {
      const auto& space =
          found.levels[reference.level(row.at("level"))].spaces[reference.space(row.at("item"))];
      text = std::to_string(space.tile_words);
    } else if (row.at("section") == "count") {
      text = row.at("level") == "mac" ? std::to_string(found.macs)
                                      : count_of(found.levels[reference.level(row.at("level"))],
                                                 reference.space(row.at("item")), row.at("field"));
    } else if (row.at("section") == "energy") {
      text = energy_of(reference, found, row);
    } else if (row.at("section") == "summary") {
      text = summary_of(reference, found, row);
    } else {
      continue;
    }
    ++compared;
    EXPECT_EQ(text, row.at("value")) << row.at("section") << ' ' << row.at("level") << ' '
                                     << row.at("item") << ' ' << row.at("field");
  }
  EXPECT_GT(compared, 80U);
  EXPECT_EQ(found.utilized_macs, reference.count("spec", "mac", "", "utilized_instances"));
}

INSTANTIATE_TEST_SUITE_P(Timeloop, PublishedDesign,
                         testing::Values("eyeriss_like", "simple_weight_stationary"));

}  // namespace
}  // namespace halftone::accel::mapping
