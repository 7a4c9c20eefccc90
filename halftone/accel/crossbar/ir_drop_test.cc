// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/ir_drop.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <numeric>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::crossbar {
namespace {

constexpr double kOn = 1e-4;    // 10 kOhm
constexpr double kOff = 1e-5;   // 100 kOhm
constexpr double kSegment = 1;  // ohm

/// Cells that are on or off with equal probability.
std::vector<double> random_cells(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> cells(rows * cols);
  for (double& cell : cells) cell = random.below(2) == 1 ? kOn : kOff;
  return cells;
}

/// The part of the current that wires take away if all rows are driven.
double loss(std::size_t size, std::uint64_t seed) {
  const std::vector<double> cells = random_cells(size, size, seed);
  const std::vector<double> seen = with_wires({std::span(cells), size, size}, kSegment);
  const auto sum = [](const std::vector<double>& g) {
    return std::accumulate(g.begin(), g.end(), 0.0);
  };
  return 1 - sum(seen) / sum(cells);
}

TEST(WithWires, LosesNothingWithoutResistance) {
  const std::vector<double> cells = random_cells(5, 3, 1);
  EXPECT_EQ(with_wires({std::span(cells), 5, 3}, 0), cells);
  EXPECT_TRUE(with_wires({}, 1).empty());
}

TEST(WithWires, SolvesOneCellByOhmsLaw) {
  const std::vector<double> cell = {kOn};
  EXPECT_DOUBLE_EQ(with_wires({std::span(cell), 1, 1}, 100)[0], 1 / (1 / kOn + 200));
}

TEST(WithWires, SolvesARowByHand) {
  // Node a above the first cell, b above the second; each cell leads through one segment to ground.
  const double r = 100;
  const std::vector<double> cells = {kOn, kOff};
  const double cell_a = 1 / (1 / kOn + r);
  const double cell_b = 1 / (1 / kOff + r);
  const double behind = 1 / (r + 1 / cell_b);            // from a through b to ground
  const double a = (1 / r) / (1 / r + cell_a + behind);  // voltage of a for 1 V
  const double b = a * behind / cell_b;
  const std::vector<double> seen = with_wires({std::span(cells), 1, 2}, r);
  EXPECT_NEAR(seen[0], a * cell_a, 1e-14 * kOn);
  EXPECT_NEAR(seen[1], b * cell_b, 1e-14 * kOn);
}

TEST(WithWires, IsTheSameForTheTransposedArraySeenFromTheOtherSide) {
  // Exchanging drivers and converters mirrors the array: cell (i, j) becomes (cols-1-j, rows-1-i).
  const std::size_t rows = 6;
  const std::size_t cols = 4;
  const std::vector<double> cells = random_cells(rows, cols, 2);
  std::vector<double> mirrored(cells.size());
  const auto at = [&](std::size_t i, std::size_t j) {
    return (cols - 1 - j) * rows + rows - 1 - i;
  };
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) mirrored[at(i, j)] = cells[i * cols + j];
  }
  const std::vector<double> a = with_wires({std::span(cells), rows, cols}, kSegment);
  const std::vector<double> b = with_wires({std::span(mirrored), cols, rows}, kSegment);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) {
      EXPECT_NEAR(a[i * cols + j], b[at(i, j)], 1e-12 * kOn);
    }
  }
}

TEST(WithWires, LosesAsMuchAsIsKnownOfArraysOfTensOfKiloohms) {
  // 3.9 % at 32 and 13.4 % at 64, of one pattern of cells each; patterns differ by 0.2 points.
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    EXPECT_NEAR(loss(32, seed), 0.039, 0.003);
    EXPECT_NEAR(loss(64, seed), 0.134, 0.005);
  }
}

TEST(WithWires, RejectsWiresThatFloat64CannotTellFromIdealOnes) {
  const std::vector<double> cells = random_cells(2, 2, 1);
  expect_error(ErrorKind::kUnsupported,
               "an array of 2 x 2 cells: its network of wires cannot be solved", [&] {
                 with_wires({std::span(cells), 2, 2}, 1e-300);
               });
}

/// Currents of the columns as ngspice computes them.
class Spice : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    if (std::system("ngspice --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no ngspice";
  }

  std::vector<double> currents(MatrixView<const double> g, std::span<const double> volts) {
    write_netlist(g, volts);
    const std::string command =
        "ngspice -b " + path("array.cir") + " > " + path("log") + " 2>&1 < /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::ifstream file(path("currents"));
    std::vector<double> result;
    // wrdata writes the scale before each value.
    for (double scale = 0, value = 0; file >> scale >> value;) result.push_back(value);
    return result;
  }

 private:
  void write_netlist(MatrixView<const double> g, std::span<const double> volts) {
    std::ofstream out(path("array.cir"));
    out << std::setprecision(17) << "crossbar\n";
    // Solves twice to these tolerances; the network is linear.
    out << ".options reltol=1e-14 abstol=1e-22 vntol=1e-16 gmin=1e-30 pivtol=1e-30\n";
    for (std::size_t i = 0; i < g.rows(); ++i) {
      out << "v" << i << " d" << i << " 0 dc " << volts[i] << "\n";
      out << "rd" << i << " d" << i << " r" << i << "_0 " << kSegment << "\n";
      for (std::size_t j = 0; j < g.cols(); ++j) {
        out << "rc" << i << "_" << j << " r" << i << "_" << j << " c" << i << "_" << j << " "
            << 1 / g(i, j) << "\n";
        if (j + 1 < g.cols()) {
          out << "rr" << i << "_" << j << " r" << i << "_" << j << " r" << i << "_" << j + 1 << " "
              << kSegment << "\n";
        }
        out << "rk" << i << "_" << j << " c" << i << "_" << j << " ";
        if (i + 1 < g.rows()) {
          out << "c" << i + 1 << "_" << j;
        } else {
          out << "g" << j;
        }
        out << " " << kSegment << "\n";
      }
    }
    for (std::size_t j = 0; j < g.cols(); ++j) out << "vg" << j << " g" << j << " 0 dc 0\n";
    out << ".control\nset numdgt=16\nop\nwrdata " << path("currents");
    for (std::size_t j = 0; j < g.cols(); ++j) out << " i(vg" << j << ")";
    out << "\nquit\n.endc\n.end\n";
  }
};

TEST_F(Spice, FindsTheSameCurrents) {
  for (const std::size_t size : {8U, 16U, 32U}) {
    const std::vector<double> cells = random_cells(size, size, size);
    const MatrixView<const double> g{std::span(cells), size, size};
    std::vector<double> volts(size);
    Random random(size);
    for (double& volt : volts) volt = random.below(2) == 1 ? 0.2 : 0;
    const std::vector<double> seen = with_wires(g, kSegment);
    std::filesystem::remove(path("currents"));
    std::filesystem::remove(path("currents.data"));
    std::vector<double> found = currents(g, volts);
    ASSERT_EQ(found.size(), size);
    double worst = 0;
    for (std::size_t j = 0; j < size; ++j) {
      double current = 0;
      for (std::size_t i = 0; i < size; ++i) current += seen[i * size + j] * volts[i];
      worst = std::max(worst, std::abs(found[j] / current - 1));
    }
    EXPECT_LT(worst, 1e-9) << size;
    RecordProperty("worst" + std::to_string(size), std::to_string(worst * 1e12) + "e-12");
  }
}

}  // namespace
}  // namespace halftone::crossbar
