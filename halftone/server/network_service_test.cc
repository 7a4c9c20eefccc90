// SPDX-License-Identifier: Apache-2.0
// Requests to run a network, together and alone.
#include "halftone/server/network_service.h"

#include <gmock/gmock.h>

#include <future>
#include <numeric>

#include "halftone/api/run.h"
#include "halftone/server/request_error.h"
#include "halftone/server/tensor_json.h"

namespace halftone::server {
namespace {

using testing::HasSubstr;

const std::string kFile = std::string(HALFTONE_SOURCE_DIR) + "/examples/mnist/mnist_mlp_700.onnx";

/// Images of noise, which depend on their number alone.
ir::Tensor images(std::size_t first, std::size_t count) {
  std::vector<float> values(784 * count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i + 784 * first) * 2654435761U % 1000) / 1000;
  }
  return ir::Tensor::from<float>({static_cast<ir::Dim>(count), 1, 28, 28}, values);
}

std::vector<ir::Tensor> list_of(ir::Tensor tensor) {
  std::vector<ir::Tensor> list;
  list.push_back(std::move(tensor));
  return list;
}

ir::Tensor shaped(const NetworkService& service, std::size_t first, std::size_t count) {
  const ir::Graph& graph = service.graph();
  const auto dims = graph.value(graph.inputs()[0]).type.shape.dims();
  std::vector<ir::Dim> shape(dims.begin(), dims.end());
  shape[0] = static_cast<ir::Dim>(count);
  return ir::Tensor::from<float>(ir::Shape(shape), images(first, count).as<float>());
}

std::vector<float> floats(const std::vector<ir::Tensor>& outputs) {
  const auto values = outputs.at(0).as<float>();
  return {values.begin(), values.end()};
}

TEST(NetworkServices, GiveEachRequestWhatItGetsAlone) {
  NetworkService service(load(kFile), "mnist");
  std::vector<std::vector<float>> alone;
  for (std::size_t i = 0; i < 40; ++i)
    alone.push_back(floats(service.run(list_of(shaped(service, i, 1)))));
  const ir::Tensor all = shaped(service, 0, 40);
  const RunOptions fixed{1, {.float_order = runtime::FloatOrder::kFixed}};
  const std::vector<float> whole = floats(run(load(kFile), {&all, 1}, fixed));
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(
        std::equal(alone[i].begin(), alone[i].end(), whole.begin() + std::ptrdiff_t(10 * i)))
        << i;
  }
  EXPECT_EQ(floats(service.run(list_of(shaped(service, 3, 37)))),
            std::vector<float>(whole.begin() + 30, whole.end()));
  std::vector<std::future<std::vector<float>>> clients;
  for (std::size_t i = 0; i < 39; ++i) {
    clients.push_back(std::async(std::launch::async, [&, i] {
      return floats(service.run(list_of(shaped(service, i, 1 + i % 2))));
    }));
  }
  for (std::size_t i = 0; i < 39; ++i) {
    const auto begin = whole.begin() + std::ptrdiff_t(10 * i);
    EXPECT_EQ(clients[i].get(),
              std::vector<float>(begin, begin + std::ptrdiff_t(10 + 10 * (i % 2))));
  }
  EXPECT_EQ(service.counts().samples, 40U + 37U + 39U + 19U);
}

TEST(NetworkServices, SayWhatTheyDoNotTake) {
  NetworkService service(load(kFile), "mnist");
  for (const ir::Shape& shape : {ir::Shape{1, 3}, ir::Shape{}, ir::Shape{0, 784}, ir::Shape{0}}) {
    try {
      (void)service.run(list_of(ir::Tensor(ir::ElementType::kFloat32, shape)));
      ADD_FAILURE() << shape.to_string();
    } catch (const RequestError& error) {
      EXPECT_EQ(error.status(), 400);
      EXPECT_THAT(error.what(), HasSubstr("expected the shape"));
    }
  }
  service.drain();
  EXPECT_TRUE(service.is_draining());
  EXPECT_THROW((void)service.run(list_of(shaped(service, 0, 1))), RequestError);
}

class Tensors : public testing::Test {
 protected:
  [[nodiscard]] std::string error_of(const std::string& body) const {
    try {
      (void)tensors_of_json(Json::parse(body), network_.graph);
    } catch (const RequestError& error) {
      EXPECT_EQ(error.param(), "inputs");
      return error.what();
    }
    return "";
  }
  Network network_ = load(kFile);
  std::string name_ = network_.graph.value(network_.graph.inputs()[0]).name;
};

TEST_F(Tensors, AreListsOrBytes) {
  std::vector<float> values(2 * 784);
  std::iota(values.begin(), values.end(), 0.5F);
  const auto expect = [&](const std::vector<ir::Tensor>& found) {
    ASSERT_EQ(found.size(), 1U);
    const auto elements = found[0].as<float>();
    EXPECT_EQ(std::vector<float>(elements.begin(), elements.end()), values);
    EXPECT_EQ(found[0].shape()[0], 2);
  };
  expect(tensors_of_json({{"input", values}}, network_.graph));
  expect(tensors_of_json({{"inputs", {{name_, values}}}}, network_.graph));
  const std::string raw(reinterpret_cast<const char*>(values.data()), 4 * values.size());
  expect(tensor_of_bytes(raw, network_.graph));
  const std::vector<ir::Tensor> tensor = list_of(ir::Tensor::from<float>({2, 784}, values));
  const Json packed = json_of_tensors(tensor, network_.graph, true);
  expect(tensors_of_json({{"input", {{"data", packed["outputs"].begin()->at("data")}}}},
                         network_.graph));
  const Json plain = json_of_tensors(tensor, network_.graph, false);
  EXPECT_EQ(plain["outputs"].begin()->at("data")[1][0], 784.5);
  EXPECT_EQ(plain["outputs"].begin()->at("shape"), Json({2, 784}));
}

TEST_F(Tensors, SayWhatIsWrong) {
  EXPECT_THAT(error_of("{}"), HasSubstr("inputs: expected an object"));
  EXPECT_THAT(error_of(R"({"inputs": {}})"), HasSubstr("expected a tensor, found none"));
  EXPECT_THAT(error_of(R"({"inputs": {")" + name_ + R"(": [1], "x": [1]}})"),
              HasSubstr("expected 1 tensors, found 2"));
  for (const char* lists : {"[[1], 2]", "[[1], [2, 3]]", "[]", "[1, [2]]"}) {
    EXPECT_THAT(error_of(R"({"input": )" + std::string(lists) + "}"),
                HasSubstr("expected numbers in lists"))
        << lists;
  }
  for (const char* number : {"\"a\"", "null", "1e39"}) {
    EXPECT_THAT(error_of(R"({"input": [)" + std::string(number) + "]}"),
                HasSubstr("expected finite numbers"));
  }
  EXPECT_THAT(error_of(R"({"input": {"data": "a!"}})"), HasSubstr("expected base64"));
  EXPECT_THAT(error_of(R"({"input": {"data": "YWI="}})"), HasSubstr("elements of 4 bytes"));
  EXPECT_THAT(error_of(R"({"input": {"data": "YWJjZA==", "shape": [2]}})"),
              HasSubstr("expected 8 bytes"));
  EXPECT_THAT(error_of(R"({"input": {"data": "YWJjZA==", "shape": [0]}})"),
              HasSubstr("a list of extents"));
  EXPECT_THROW(tensor_of_npy("no file", network_.graph), RequestError);
  EXPECT_THROW(tensor_of_bytes("", network_.graph), RequestError);
}

}  // namespace
}  // namespace halftone::server
