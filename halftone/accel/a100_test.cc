// SPDX-License-Identifier: Apache-2.0
// The description of an A100 under eager PyTorch beside operators that were measured on one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "halftone/accel/estimate.h"
#include "halftone/base/oracle_testing.h"

namespace halftone::accel {
namespace {

constexpr Number kHalf{16, true};

/// An operation on m rows of n elements in float16.
Operation half_elements(const std::string& op, double count, double operations, double functions) {
  Operation result{.name = op, .op = op};
  result.operations = operations * count;
  result.functions = functions * count;
  result.outputs = count;
  result.reads = {{TensorRole::kInputs, 2 * count}};
  result.writes = {{TensorRole::kOutputs, 2 * count}};
  return result;
}

Operation product_of_row(const oracle::Row& row) {
  const auto m = static_cast<std::size_t>(oracle::number(row, "m"));
  const auto n = static_cast<std::size_t>(oracle::number(row, "n"));
  const auto k = static_cast<std::size_t>(oracle::number(row, "k"));
  Operation result{.name = "gemm", .op = "FullyConnected"};
  result.product = {1, m, k, n, kHalf, kHalf, 16, 1};
  const auto bytes = [](std::size_t a, std::size_t b) {
    return 2.0 * static_cast<double>(a) * static_cast<double>(b);
  };
  result.reads = {{TensorRole::kInputs, bytes(m, k)}, {TensorRole::kWeights, bytes(k, n)}};
  result.writes = {{TensorRole::kOutputs, bytes(m, n)}};
  return result;
}

double estimated(const oracle::Row& row, const Accelerator& chip) {
  const std::string& op = row.at("op");
  if (op == "allreduce") return all_reduce_seconds(*chip.link, 4, oracle::number(row, "bytes"));
  const double count = oracle::number(row, "elements");
  const Operation operation = op == "gemm"        ? product_of_row(row)
                              : op == "softmax"   ? half_elements("Softmax", count, 4, 1)
                              : op == "layernorm" ? half_elements("Normalize", count, 6, 0)
                                                  : half_elements("Gelu", count, 8, 1);
  return estimate({op, 1, {operation}}, chip).seconds;
}

double measured(const oracle::Row& row) {
  const double better = oracle::number(row, "seconds_from_tflops");
  return better > 0 ? better : oracle::number(row, "seconds");
}

/// The three numbers of the description that were chosen to fit the measurements.
struct Calibrated {
  double efficiency;  ///< of the HBM
  double passes;      ///< of a softmax
  double latency_s;   ///< of a message
};

Accelerator with(const Calibrated& numbers) {
  Accelerator chip = load_accelerator("a100-eager");
  chip.memories.front().efficiency = numbers.efficiency;
  chip.link->latency_s = numbers.latency_s;
  for (OperatorRule& rule : chip.rules) {
    if (rule.passes > 0) rule.passes = numbers.passes;
  }
  return chip;
}

std::vector<double> errors_of(const std::vector<oracle::Row>& rows, const Accelerator& chip) {
  std::vector<double> errors;
  for (const oracle::Row& row : rows) {
    errors.push_back(std::abs(estimated(row, chip) / measured(row) - 1));
  }
  return errors;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<std::vector<double>> errors_of_all_choices(const std::vector<oracle::Row>& rows) {
  std::vector<std::vector<double>> choices;
  for (int efficiency = 70; efficiency <= 100; efficiency += 5) {
    for (const double passes : {2.0, 3.0, 4.0}) {
      for (int latency = 80; latency <= 160; latency += 11) {
        choices.push_back(errors_of(rows, with({efficiency / 100.0, passes, latency * 1e-7})));
      }
    }
  }
  return choices;
}

/// Each row's error with the numbers that fit the rows of the other four fifths best.
double cross_validated(const std::vector<oracle::Row>& rows) {
  constexpr std::size_t kFolds = 5;
  const std::vector<std::vector<double>> choices = errors_of_all_choices(rows);
  double sum = 0;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const auto sum_of = [&](const std::vector<double>& errors, bool inside) {
      double total = 0;
      for (std::size_t i = 0; i < errors.size(); ++i) {
        if ((i % kFolds == fold) == inside) total += errors[i];
      }
      return total;
    };
    const auto best = std::ranges::min_element(
        choices, {}, [&](const std::vector<double>& errors) { return sum_of(errors, false); });
    sum += sum_of(*best, true);
  }
  return sum / static_cast<double>(rows.size());
}

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

TEST(A100, IsDescribedAsItWasMeasured) {
  const std::vector<oracle::Row> rows = oracle::oracle_rows("gpu_gemm_a100.csv");
  if (rows.empty()) GTEST_SKIP() << "no oracles; set HALFTONE_DATA";
  ASSERT_EQ(rows.size(), 116U);
  const Accelerator chip = load_accelerator("a100-eager");
  const double error = mean(errors_of(rows, chip));
  const double validated = cross_validated(rows);
  EXPECT_LE(error, 0.109);
  EXPECT_LE(validated, 0.109);
  // What every estimate says of it.
  EXPECT_EQ(chip.comparison, "mean error " + percent(error) + ", cross-validated " +
                                 percent(validated) +
                                 ", over 116 operators and all-reduces measured on it");
}

TEST(A100, IsNotDescribedByItsRooflineAlone) {
  const std::vector<oracle::Row> rows = oracle::oracle_rows("gpu_gemm_a100.csv");
  if (rows.empty()) GTEST_SKIP() << "no oracles; set HALFTONE_DATA";
  Accelerator chip = load_accelerator("a100-eager");
  chip.units.front().efficiency = 1;
  chip.memories.front().efficiency = 1;
  chip.memories.front().latency_s = 0;
  double sum = 0;
  int count = 0;
  for (const oracle::Row& row : rows) {
    if (row.at("op") != "gemm") continue;
    const Workload one{"gemm", 1, {product_of_row(row)}};
    sum += std::abs(estimate(one, chip, {Method::kRoofline}).seconds / measured(row) - 1);
    ++count;
  }
  // Peak and bandwidth with the launch overhead: 14.8 % is published for these rows.
  EXPECT_NEAR(sum / count, 0.148, 0.0005);
}

}  // namespace
}  // namespace halftone::accel
