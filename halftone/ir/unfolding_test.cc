// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/unfolding.h"

#include <gmock/gmock.h>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

/// A graph of one layer without bias.
struct OneLayer {
  Graph graph;
  NodeId node{};

  OneLayer(const Operator& op, Shape x, Shape w) {
    const ValueId input = graph.add_input("x", test::float_type(std::move(x)));
    const ValueId weights = graph.add_constant("w", test::random_tensor(std::move(w), 3));
    const ValueId output = graph.add_node("layer", op, {input, weights});
    graph.add_output(output);
    node = *graph.producer(output);
  }
  [[nodiscard]] Unfolding unfolding() const { return {graph, graph.node(node)}; }
};

std::vector<OneLayer> layers() {
  const Window window{{2, 1}, {1, 2}, {1, 0}, {0, 2}};
  std::vector<OneLayer> result;
  result.emplace_back(FullyConnected{}, Shape{2, 6}, Shape{4, 6});
  result.emplace_back(Conv{window, 1, {}}, Shape{2, 4, 5, 3}, Shape{4, 2, 2, 3});
  result.emplace_back(Conv{plain_window(1), 2, {}}, Shape{2, 5, 4}, Shape{6, 2, 2});
  result.emplace_back(ConvTranspose{window, {0, 0}, 1, {}}, Shape{2, 3, 4, 2}, Shape{3, 2, 2, 2});
  return result;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

TEST(Unfolding, RowsTimesWeightsAreTheLayer) {
  for (const OneLayer& layer : layers()) {
    const Unfolding unfolding = layer.unfolding();
    const Node& node = layer.graph.node(layer.node);
    const Tensor x = test::random_tensor(layer.graph.value(node.inputs[0]).type.shape, 5);
    const auto w = std::get<Tensor>(*layer.graph.constant(node.inputs[1])).as<float>();
    const std::vector<Tensor> y = test::run_reference(layer.graph, test::list(x.clone()));
    const std::size_t cols = unfolding.num_cols();
    const std::size_t outputs = w.size() / cols;
    const std::size_t group_outputs = outputs / unfolding.num_groups();
    const std::size_t num_rows = unfolding.rows_per_sample();
    const std::size_t samples = x.as<float>().size() / unfolding.sample_elements();
    std::vector<float> rows(num_rows * cols);
    for (std::size_t at = 0; at < samples * unfolding.num_groups(); ++at) {
      const std::size_t sample = at / unfolding.num_groups();
      const std::size_t group = at % unfolding.num_groups();
      unfolding.gather(x.as<float>().data() + sample * unfolding.sample_elements(), group,
                       rows.data());
      for (std::size_t r = 0; r < num_rows; ++r) {
        const auto a = std::span(rows).subspan(r * cols, cols);
        for (std::size_t o = group * group_outputs; o < (group + 1) * group_outputs; ++o) {
          const auto row = w.subspan(o * cols, cols);
          double magnitude = 0;
          for (std::size_t i = 0; i < cols; ++i) {
            magnitude += std::abs(static_cast<double>(a[i]) * static_cast<double>(row[i]));
          }
          // The reference implementation rounds each of `cols` products and sums in float32.
          EXPECT_NEAR(y[0].as<float>()[(sample * num_rows + r) * outputs + o], dot(a, row),
                      2 * static_cast<double>(cols) * 0x1p-24 * magnitude)
              << name_of(node.op) << " output " << o;
        }
      }
    }
  }
}

TEST(Unfolding, ScatterIsTheTransposeOfGather) {
  for (const OneLayer& layer : layers()) {
    const Unfolding unfolding = layer.unfolding();
    const auto elements = static_cast<Dim>(unfolding.sample_elements());
    const auto size = static_cast<Dim>(unfolding.rows_per_sample() * unfolding.num_cols());
    const Tensor x = test::random_tensor({elements}, 7);
    const Tensor rows = test::random_tensor({size}, 11);
    for (std::size_t g = 0; g < unfolding.num_groups(); ++g) {
      std::vector<float> gathered(rows.size());
      unfolding.gather(x.as<float>().data(), g, gathered.data());
      std::vector<float> scattered(x.size(), 0);
      unfolding.scatter_add(rows.as<float>().data(), g, scattered.data());
      // Sums of at most 8 normally distributed values are rounded to float32 before the product.
      EXPECT_NEAR(dot(gathered, rows.as<float>()), dot(x.as<float>(), scattered),
                  8 * 0x1p-24 * dot(gathered, gathered) * dot(rows.as<float>(), rows.as<float>()));
    }
  }
}

}  // namespace
}  // namespace halftone::ir
