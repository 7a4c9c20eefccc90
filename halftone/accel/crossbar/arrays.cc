// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/arrays.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "halftone/accel/crossbar/ir_drop.h"
#include "halftone/accel/crossbar/noise.h"
#include "halftone/base/parallel.h"

namespace halftone::crossbar {
namespace {

/// The bits [first, last) of a row, from bit 0 of the first word on.
void copy_bits(std::span<const std::uint64_t> row, std::size_t first, std::size_t last,
               std::span<std::uint64_t> to) {
  for (std::size_t begin = first, word = 0; begin < last; begin += 64, ++word) {
    to[word] = bits_between(row, begin, std::min(begin + 64, last));
  }
}

int count_ones(std::span<const std::uint64_t> words) {
  int ones = 0;
  for (const std::uint64_t word : words) ones += std::popcount(word);
  return ones;
}

int count_common(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  int ones = 0;
  for (std::size_t w = 0; w < a.size(); ++w) ones += std::popcount(a[w] & b[w]);
  return ones;
}

/// sums += the selected rows of a matrix, four at a time in their order.
/// @param matrix  [rows, sums.size()]
void add_selected(std::span<const float> matrix, std::span<const std::size_t> selected,
                  std::span<float> sums) {
  const std::size_t count = sums.size();
  float* to = sums.data();
  std::size_t s = 0;
  for (; s + 4 <= selected.size(); s += 4) {
    const float* a = matrix.data() + selected[s] * count;
    const float* b = matrix.data() + selected[s + 1] * count;
    const float* c = matrix.data() + selected[s + 2] * count;
    const float* d = matrix.data() + selected[s + 3] * count;
    for (std::size_t i = 0; i < count; ++i) to[i] = to[i] + a[i] + b[i] + c[i] + d[i];
  }
  for (; s < selected.size(); ++s) {
    const float* a = matrix.data() + selected[s] * count;
    for (std::size_t i = 0; i < count; ++i) to[i] += a[i];
  }
}

/// The indices of the set bits.
void list_ones(std::span<const std::uint64_t> words, std::vector<std::size_t>& ones) {
  ones.clear();
  for (std::size_t w = 0; w < words.size(); ++w) {
    for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
      ones.push_back(64 * w + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
}

}  // namespace

/// Programs arrays one by one.
class Arrays::Programmer {
 public:
  Programmer(const CrossbarDevice& device, const Mapping& mapping, const Units& units)
      : device_(device), mapping_(mapping), units_(units) {}

  [[nodiscard]] CellArray program(std::size_t index, std::uint64_t seed) const {
    CellArray array;
    array.first_row = index / mapping_.unit_blocks() * mapping_.array_rows;
    array.rows = std::min(mapping_.array_rows, mapping_.inputs - array.first_row);
    array.first_unit = index % mapping_.unit_blocks() * mapping_.array_units;
    array.units = std::min(mapping_.array_units, mapping_.units() - array.first_unit);
    const std::size_t columns = array.units * mapping_.unit_columns + mapping_.reference_columns;
    const std::vector<double> wanted = targets(array, columns);
    const std::vector<double> programmed = conductances(device_, wanted, seed);
    const std::vector<double> seen =
        with_wires({std::span(programmed), array.rows, columns}, device_.segment_ohms);
    array.counts = counts_of({std::span(seen), array.rows, columns}, array.units);
    if (device_.adc.calibrated) {
      calibrate(counts_of({std::span(wanted), array.rows, columns}, array.units), array);
    }
    array.seed = derived_seed(seed, programmed.size());
    return array;
  }

 private:
  [[nodiscard]] double siemens(double level) const {
    const double step = (device_.on_siemens - device_.off_siemens) / (device_.levels - 1);
    return device_.off_siemens + step * level;
  }

  /// [rows, columns]
  [[nodiscard]] std::vector<double> targets(const CellArray& array, std::size_t columns) const {
    std::vector<double> targets(array.rows * columns, device_.off_siemens);
    const std::size_t width = mapping_.unit_columns;
    for (std::size_t r = 0; r < array.rows; ++r) {
      double* row = targets.data() + r * columns;
      for (std::size_t u = 0; u < array.units; ++u) {
        const double level = units_.level(array.first_unit + u, array.first_row + r);
        row[u * width] = siemens(level);
        if (width == 2) row[u * width + 1] = siemens(1 - level);
      }
    }
    return targets;
  }

  /// The counts of a pulse: subtracts the reference column, or the second columns of pairs.
  /// @return [rows, units * unit_conversions]
  [[nodiscard]] std::vector<float> counts_of(MatrixView<const double> siemens,
                                             std::size_t units) const {
    const double per_siemens = (device_.levels - 1) / (device_.on_siemens - device_.off_siemens);
    const std::size_t conversions = units * mapping_.unit_conversions;
    std::vector<float> counts(siemens.rows() * conversions);
    for (std::size_t r = 0; r < siemens.rows(); ++r) {
      for (std::size_t c = 0; c < conversions; ++c) {
        const std::size_t column = c % units * mapping_.unit_columns + c / units;
        const std::size_t other = mapping_.reference_columns == 1 ? siemens.cols() - 1 : column + 1;
        const double difference = siemens(r, column) - siemens(r, other);
        counts[r * conversions + c] = static_cast<float>(difference * per_siemens);
      }
    }
    return counts;
  }

  /// Multiplies the counts by the gain that brings those of a pulse on all rows closest to the
  /// wanted ones: sum_c wanted_c seen_c / sum_c seen_c^2 over the conversions c.
  static void calibrate(std::span<const float> wanted, CellArray& array) {
    double products = 0;
    double squares = 0;
    for (std::size_t c = 0; c < array.columns(); ++c) {
      double wanted_count = 0;
      double seen_count = 0;
      for (std::size_t i = c; i < wanted.size(); i += array.columns()) {
        wanted_count += static_cast<double>(wanted[i]);
        seen_count += static_cast<double>(array.counts[i]);
      }
      products += wanted_count * seen_count;
      squares += seen_count * seen_count;
    }
    if (squares == 0) return;
    const auto gain = static_cast<float>(products / squares);
    for (float& count : array.counts) count *= gain;
  }

  const CrossbarDevice& device_;
  const Mapping& mapping_;
  const Units& units_;
};

Arrays::Arrays(const CrossbarDevice& device, const numerics::BitPlanes& codes,
               const numerics::MatrixEncoding& encoding, std::uint64_t seed)
    : mapping_(device, codes.cols, codes.rows, codes.bits),
      quantizer_(device, mapping_.used_rows(), true),
      by_column_(device.adc.converts == Converts::kColumn) {
  const Units units(device, mapping_, codes, encoding);
  meanings_.assign(units.meanings().begin(), units.meanings().end());
  if (device.is_ideal() && mapping_.unit_columns == 2) {
    keep_planes(codes);
    return;
  }
  quantizer_ = Quantizer(device, mapping_.used_rows(), units.are_whole());
  if (device.read_noise == ReadNoise::kConstant) {
    // A conversion subtracts the current of one cell from that of another.
    const double per_siemens = (device.levels - 1) / (device.on_siemens - device.off_siemens);
    read_deviation_ =
        static_cast<float>(std::sqrt(2.0) * device.read_sigma * device.on_siemens * per_siemens);
  }
  const Programmer programmer(device, mapping_, units);
  arrays_.resize(mapping_.arrays());
  parallel_for(arrays_.size(), [&](std::size_t index) {
    arrays_[index] = programmer.program(index, derived_seed(seed, index));
  });
}

void Arrays::keep_planes(const numerics::BitPlanes& codes) {
  for (std::size_t first = 0; first < codes.cols; first += mapping_.array_rows) {
    const std::size_t last = std::min(first + mapping_.array_rows, codes.cols);
    BitMatrix& planes = planes_.emplace_back(mapping_.units(), last - first);
    for (std::size_t u = 0; u < mapping_.units(); ++u) {
      copy_bits(codes.planes.row(u), first, last, planes.row(u));
    }
  }
}

std::size_t Arrays::size_bytes() const {
  std::size_t bytes = meanings_.size() * sizeof(UnitMeaning);
  for (const BitMatrix& planes : planes_) bytes += planes.words().size_bytes();
  for (const CellArray& array : arrays_) bytes += array.counts.size() * sizeof(float);
  return bytes;
}

void Arrays::read(std::span<const std::uint64_t> pulses, MatrixView<float> counts) const {
  std::vector<std::int32_t> memory(counts.rows() * mapping_.units());
  const MatrixView<std::int32_t> sums{std::span(memory), counts.rows(), mapping_.units()};
  for (std::size_t block = 0; block < planes_.size(); ++block) read_planes(block, pulses, sums);
  for (const CellArray& array : arrays_) read_cells(array, pulses, sums);
  for (std::size_t r = 0; r < counts.rows(); ++r) {
    for (std::size_t u = 0; u < mapping_.units(); ++u) {
      counts(r, u) = quantizer_.step() * static_cast<float>(sums(r, u));
    }
  }
}

void Arrays::read_planes(std::size_t block, std::span<const std::uint64_t> pulses,
                         MatrixView<std::int32_t> sums) const {
  const BitMatrix& planes = planes_[block];
  const std::size_t first = block * mapping_.array_rows;
  std::vector<std::uint64_t> driven(planes.row_words());
  for (std::size_t r = 0; r < sums.rows(); ++r) {
    copy_bits(pulses.subspan(r * words(), words()), first, first + planes.cols(), driven);
    const int all = count_ones(driven);
    for (std::size_t u = 0; u < planes.rows(); ++u) {
      const int plus = count_common(driven, planes.row(u));
      const int minus = all - plus;
      sums(r, u) += by_column_ ? quantizer_.code(static_cast<float>(plus)) -
                                     quantizer_.code(static_cast<float>(minus))
                               : quantizer_.code(static_cast<float>(plus - minus));
    }
  }
}

void Arrays::read_cells(const CellArray& array, std::span<const std::uint64_t> pulses,
                        MatrixView<std::int32_t> sums) const {
  std::vector<std::uint64_t> driven(words_for_bits(array.rows));
  std::vector<std::size_t> rows;
  std::vector<float> currents(array.columns());
  for (std::size_t r = 0; r < sums.rows(); ++r) {
    copy_bits(pulses.subspan(r * words(), words()), array.first_row, array.first_row + array.rows,
              driven);
    list_ones(driven, rows);
    std::ranges::fill(currents, 0.0F);
    add_selected(array.counts, rows, currents);
    if (read_deviation_ != 0) add_noise(array, driven, currents);
    add_codes(array, currents, sums.row(r).subspan(array.first_unit, array.units));
  }
}

void Arrays::for_each_count(
    const std::function<void(std::size_t unit, std::size_t input, float count)>& visit) const {
  for (std::size_t block = 0; block < planes_.size(); ++block) {
    for (std::size_t u = 0; u < mapping_.units(); ++u) {
      for (std::size_t k = 0; k < planes_[block].cols(); ++k) {
        visit(u, block * mapping_.array_rows + k, planes_[block].test(u, k) ? 1.0F : -1.0F);
      }
    }
  }
  for (const CellArray& array : arrays_) {
    for (std::size_t r = 0; r < array.rows; ++r) {
      const float* counts = array.counts.data() + r * array.columns();
      for (std::size_t u = 0; u < array.units; ++u) {
        const float second = mapping_.unit_conversions == 2 ? counts[array.units + u] : 0;
        visit(array.first_unit + u, array.first_row + r, counts[u] - second);
      }
    }
  }
}

SeenWeights Arrays::seen_weights() const {
  SeenWeights seen;
  seen.weights.resize(mapping_.outputs * mapping_.inputs);
  std::vector<double> shifts(mapping_.outputs);
  for_each_count([&](std::size_t unit, std::size_t input, float count) {
    const UnitMeaning& meaning = meanings_[unit];
    const std::size_t output = unit / mapping_.slices;
    seen.weights[output * mapping_.inputs + input] += meaning.scale * count + meaning.low;
    shifts[output] += static_cast<double>(meaning.scale) * static_cast<double>(count);
  });
  for (std::size_t u = 0; u < mapping_.units(); ++u) {
    shifts[u / mapping_.slices] -=
        static_cast<double>(meanings_[u].scale) * static_cast<double>(meanings_[u].total);
  }
  seen.shifts.assign(shifts.begin(), shifts.end());
  return seen;
}

void Arrays::add_noise(const CellArray& array, std::span<const std::uint64_t> pulses,
                       std::span<float> currents) const {
  std::uint64_t seed = array.seed;
  for (const std::uint64_t word : pulses) seed = derived_seed(seed, word);
  const double deviation = read_deviation_ * std::sqrt(static_cast<double>(count_ones(pulses)));
  for (std::size_t c = 0; c < currents.size(); ++c) {
    currents[c] += static_cast<float>(deviation * normal_of(derived_seed(seed, c)));
  }
}

void Arrays::add_codes(const CellArray& array, std::span<const float> currents,
                       std::span<std::int32_t> sums) const {
  for (std::size_t u = 0; u < array.units; ++u) sums[u] += quantizer_.code(currents[u]);
  if (mapping_.unit_conversions == 1) return;
  const auto second = currents.subspan(array.units);
  for (std::size_t u = 0; u < array.units; ++u) sums[u] -= quantizer_.code(second[u]);
}

}  // namespace halftone::crossbar
