// SPDX-License-Identifier: Apache-2.0
// Fitted files have the same bytes on every processor. The switches of the libraries and of the
// kernels imitate other x86 processors, and the preset `neon` runs these tests on 64-bit Arm. The
// checksums hold everywhere and change only where a fit or the format does.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/hash.h"
#include "halftone/kernels/targets.h"
#include "tests/program.h"

namespace halftone {
namespace {

/// Sets a variable of the environment while it lives.
class ScopedVariable {
 public:
  ScopedVariable(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~ScopedVariable() { ::unsetenv(name_.c_str()); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  std::string name_;
};

/// A variable of the environment and the value that makes a library compute as on another
/// processor.
using Imitation = std::pair<std::string, std::string>;

#ifdef __x86_64__
const std::vector<Imitation> kImitations = {{"DNNL_MAX_CPU_ISA", "SSE41"},
                                            {"DNNL_MAX_CPU_ISA", "AVX2"},
                                            {"DNNL_MAX_CPU_ISA", "AVX512_CORE"},
                                            {"OPENBLAS_CORETYPE", "Prescott"},
                                            {"OPENBLAS_CORETYPE", "Haswell"}};
#else
const std::vector<Imitation> kImitations;
#endif

class FittedFiles : public Program {
 protected:
  /// Runs `quantize` as it is, then on every other processor that can be imitated here.
  /// @param arguments  without the output
  void expect_everywhere(const std::string& arguments, std::uint64_t checksum) const {
    expect(arguments, checksum);
    for (const auto& [name, value] : kImitations) {
      const ScopedVariable variable(name, value);
      expect(arguments, checksum);
    }
    std::vector<std::string> targets = kernels::simd_targets();
    targets.erase(targets.begin());  // the best one has run
    for (const std::string& target : targets) expect(arguments + " --simd " + target, checksum);
  }

 private:
  void expect(const std::string& arguments, std::uint64_t checksum) const {
    const std::string file = path("out.circle");
    const Outcome outcome = run("quantize " + arguments + " -o " + file);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    Hash hash;
    hash.add(text_of(file));
    EXPECT_EQ(hash.value(), checksum) << arguments;
  }
};

class FittedPerceptron : public FittedFiles, public testing::WithParamInterface<int> {};

TEST_P(FittedPerceptron, HasTheSameBytesOnEveryProcessor) {
  constexpr std::array<std::uint64_t, 3> kChecksums = {0x50f77a88d51c72feU, 0xf603250c801d7266U,
                                                       0xe4fdd3a29c43aff1U};
  const std::string bits = std::to_string(GetParam());
  expect_everywhere(kModel + " --data " + kExample + " --limit 256 --weight-bits " + bits +
                        " --activation-bits " + bits,
                    kChecksums[static_cast<std::size_t>(GetParam() - 1)]);
}

INSTANTIATE_TEST_SUITE_P(Bits, FittedPerceptron, testing::Values(1, 2, 3));

TEST_F(FittedFiles, OfResNet20HaveTheSameBytesOnEveryProcessor) {
  const char* set = std::getenv("HALFTONE_DATA");
  const std::string data = set != nullptr ? set : HALFTONE_SOURCE_DIR "/../shared/data";
  if (!std::filesystem::exists(data + "/models/resnet20_cifar10.onnx")) {
    GTEST_SKIP() << "needs the data for development, see HALFTONE_DATA";
  }
  constexpr std::uint64_t kChecksum = 0xcb215e8f5f8b27efU;
  expect_everywhere(data + "/models/resnet20_cifar10.onnx --data " + data +
                        "/cifar10/lossless_train_7292.bin --limit 64 --weight-bits 2 "
                        "--activation-bits 2",
                    kChecksum);
}

}  // namespace
}  // namespace halftone
